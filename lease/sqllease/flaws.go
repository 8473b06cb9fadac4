package sqllease

import (
	"cmp"
	"fmt"
	"strings"
)

// flaws returns the reasons why the table cannot be used for the namespace. The result
// is empty if it can.
func (d *dialect) flaws(found shape, t tableName, namespace string) []Flaw {
	switch found.kind {
	case "": // a plain table, whose columns and keys are checked below
	case aView: // rebuild would rename the view, and not the table with the records
		return []Flaw{{Found: "it is " + aView, Want: "a plain table", Fix: "stop every process that leases workers, and name the table that the view reads in WithTable"}}
	default:
		return []Flaw{{Found: "it is " + found.kind, Want: "a plain table", Fix: cmp.Or(found.fix, d.rebuild(t))}}
	}
	flaws := found.flaws
	for _, name := range []string{"namespace", "worker_id", "bound", "owner"} {
		flaws = append(flaws, d.columnFlaws(found.columns[name], t, name)...)
	}
	// A column that ignores blanks at the end takes "app" and "app " for one namespace.
	if found.columns["namespace"].pads && strings.HasSuffix(namespace, " ") {
		flaws = append(flaws, Flaw{
			Found: fmt.Sprintf("namespace is %s, which ignores the blank at the end of %q", found.columns["namespace"].typ, namespace),
			Want:  d.typeOf("namespace"),
			Fix:   d.alterColumn(t, "namespace"),
		})
	}
	return append(flaws, d.keyFlaws(found.keys, t)...)
}

// columnFlaws returns the reason why the column cannot be used, or nil. A column that is not
// exact cannot hold every value of the store, or does not compare its values byte by byte. A
// column of the key must not be NULL, because a unique key accepts several rows with NULL.
// The columns bound and owner may be NULL, because a read that finds NULL in them fails.
func (d *dialect) columnFlaws(c column, t tableName, name string) []Flaw {
	want := d.typeOf(name)
	switch key := name == "namespace" || name == "worker_id"; {
	case c.generated:
		return []Flaw{{Found: name + " is generated", Want: want, Fix: d.rebuild(t)}}
	case !c.exact:
		return []Flaw{{Found: name + " is " + c.typ, Want: want, Fix: d.alterColumn(t, name)}}
	case key && c.nullable:
		return []Flaw{{Found: name + " may be NULL", Want: want + " NOT NULL", Fix: d.alterColumn(t, name)}}
	}
	return nil
}

// keyFlaws returns nil if one of the unique keys is usable. Otherwise it returns one flaw,
// which names the defect of each key, or says that the table has no such key.
func (d *dialect) keyFlaws(keys []uniqueKey, t tableName) []Flaw {
	var defects []string
	for _, k := range keys {
		if k.defect == "" {
			return nil
		}
		defects = append(defects, k.name+" "+k.defect)
	}
	found := "it has no unique key over namespace and worker_id alone"
	if defects != nil {
		found = strings.Join(defects, ", ")
	}
	return []Flaw{{Found: found, Want: "UNIQUE (namespace, worker_id)", Fix: d.addKey(d, t)}}
}

// alterColumn returns SQL that gives the column its type and NOT NULL. If the database
// cannot change the type of such a column, it returns SQL that replaces the table.
func (d *dialect) alterColumn(t tableName, column string) string {
	if d.alter == "" {
		return d.rebuild(t)
	}
	typ := d.typeOf(column)
	plain, _, _ := strings.Cut(typ, " COLLATE ") // the type for CAST, which takes no collation
	return fmt.Sprintf(d.alter, t.quoted, column, typ, plain)
}

// rebuild returns instructions and SQL that replace any table by a new table. The SQL
// renames the old table, for example to snowflake_workers_old, creates the new table and
// copies the rows. If a worker has several rows, the SQL copies one row with the highest of
// their bounds, and with the owner that sorts last. Any owner is right, because the
// instructions stop all processes first, so that no process holds a worker.
func (d *dialect) rebuild(t tableName) string {
	name := t.name[:min(len(t.name), maxIdentifier-len("_old"))] + "_old" // cut to the longest name allowed
	old, newName := d.qualified(t.schema, name), d.qualified("", name).quoted
	if d.renameQualified { // on MySQL, a new name without a schema would mean the session's database
		newName = old.quoted
	}
	create := strings.Join(strings.Fields(d.create(t)), " ")
	return "stop every process that leases workers, wait for one window, and run " +
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s; %s ", t.quoted, newName, create) +
		fmt.Sprintf("INSERT INTO %s SELECT namespace, worker_id, MAX(bound), MAX(owner) FROM %s GROUP BY namespace, worker_id", t.quoted, old.quoted)
}
