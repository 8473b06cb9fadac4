package sqllease

import (
	"fmt"
	"strings"
)

func (d *dialect) alterColumn(t table, column string) string {
	if d.alter == "" {
		return d.rebuild(t)
	}
	typ := d.typeOf(column)
	plain, _, _ := strings.Cut(typ, " COLLATE ")
	return fmt.Sprintf(d.alter, t.quoted, column, typ, plain)
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
	create := strings.Join(strings.Fields(d.create(t)), " ")
	return "stop every process that leases workers, wait for one window, and run " +
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s; %s ", t.quoted, newName, create) +
		fmt.Sprintf("INSERT INTO %s SELECT namespace, worker_id, MAX(bound), MAX(owner) FROM %s GROUP BY namespace, worker_id", t.quoted, old.quoted)
}
