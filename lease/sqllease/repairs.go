package sqllease

import (
	"fmt"
	"strings"
)

// repairs is the SQL that makes a table fit for use, for error messages.
type repairs struct {
	types  map[string]string // of the columns, as the DDL has them
	addKey func(table) string

	// alter gives a column its type and NOT NULL. Nil where the database has
	// no statement for it.
	alter func(quoted, column, typ string) string

	// renameQualified is set where a table's new name needs its schema.
	renameQualified bool
}

func (d *dialect) alterColumn(t table, column string) string {
	if d.alter == nil {
		return d.rebuild(t)
	}
	return d.alter(t.quoted, column, d.types[column])
}

// rebuild leads from any table to a new one. It merges all rows of a worker
// into the highest bound, which is safe while no process holds it.
func (d *dialect) rebuild(t table) string {
	name := t.name[:min(len(t.name), maxIdentifier-len("_old"))] + "_old"
	old := d.table(name)
	if t.schema != "" {
		old = d.table(t.schema + "." + name)
	}
	newName := d.table(name).quoted
	if d.renameQualified {
		newName = old.quoted
	}
	create := strings.Join(strings.Fields(fmt.Sprintf(d.create, t.quoted)), " ")
	return "stop every process that leases workers, wait for one window, and run " +
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s; %s ", t.quoted, newName, create) +
		fmt.Sprintf("INSERT INTO %s SELECT namespace, worker_id, MAX(bound), MAX(owner) FROM %s GROUP BY namespace, worker_id", t.quoted, old.quoted)
}
