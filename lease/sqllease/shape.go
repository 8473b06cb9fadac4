package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// layoutKey is the lowest key of a record. The lease stores its layout under it.
const layoutKey = -1

// A TableError is the error of a store whose table cannot keep two processes from
// holding one worker, or already holds two records of one worker. The failed call has
// written nothing.
type TableError struct {
	Table string // quoted as in SQL
	Flaws []Flaw // at least one
}

// A Flaw is one reason for a [TableError]. Every field is set, and has a single line.
type Flaw struct {
	Found string // for example "bound is integer"
	Want  string // for example "BIGINT"
	Fix   string // SQL, after instructions to follow first, if any
}

// Error returns one line for each flaw.
func (e *TableError) Error() string {
	lines := make([]string, len(e.Flaws))
	for i, f := range e.Flaws {
		lines[i] = fmt.Sprintf("table %s cannot keep a worker to one holder: %s: want %s: %s", e.Table, f.Found, f.Want, f.Fix)
	}
	return strings.Join(lines, "\n")
}

// A shape is the description of the table in the catalog of the database.
type shape struct {
	schema  string
	kind    string // for example aView; empty for a plain table
	fix     string // SQL that replaces this kind; empty for the default, rebuild
	columns map[string]column
	keys    []uniqueKey
	flaws   []Flaw // flaws that are not in columns or keys
	forgets string // why the table can lose writes; empty if it cannot

	clustered bool // whether the server is a node of a Galera cluster
}

// Kinds of relations that the store refuses.
const (
	aView     = "a view"
	temporary = "a temporary table"
)

type column struct {
	typ       string // the type as the database writes it
	exact     bool   // it holds all values of the store, and compares them byte by byte
	pads      bool   // it ignores blanks at the end in comparisons
	nullable  bool
	generated bool
}

// A uniqueKey is a unique index over namespace and worker_id alone. The defect is empty
// if it is usable.
type uniqueKey struct{ name, defect string }

// readColumns reads the columns from a query with nine columns: name, type as written,
// type, size and scale as [holds] takes them, and the other fields of a [column] in
// their order.
func (found *shape) readColumns(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
	found.columns = map[string]column{}
	return eachRow(ctx, conn, query, args, func(rows *sql.Rows) error {
		var name, typ string
		var size, scale int64
		var c column
		err := rows.Scan(&name, &c.typ, &typ, &size, &scale, &c.exact, &c.pads, &c.nullable, &c.generated)
		c.exact = c.exact && holds(name, typ, size, scale)
		found.columns[name] = c
		return err
	})
}

// readParts reads the rest of the shape. In each row of the query the first column
// names a field of the shape, and three more columns contain texts for it.
func (found *shape) readParts(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
	return eachRow(ctx, conn, query, args, func(rows *sql.Rows) error {
		var part, text, second, third string
		err := rows.Scan(&part, &text, &second, &third)
		switch part {
		case "table":
			found.kind, found.schema = text, second
		case "forgets":
			found.forgets = text
		case "key":
			found.keys = append(found.keys, uniqueKey{text, second})
		case "flaw":
			found.flaws = append(found.flaws, Flaw{text, second, third})
		}
		return err
	})
}

// sizes are the characters or digits of the longest value of each column.
var sizes = map[string]int64{"namespace": maxNamespace, "worker_id": 10, "bound": 19, "owner": maxOwner}

// holds reports whether a column of this type holds all values of the store.
func holds(column, typ string, size, scale int64) bool {
	number := column == "worker_id" || column == "bound"
	switch typ {
	case "text":
		return !number && size >= sizes[column]
	case "integer":
		return column == "worker_id"
	case "bigint":
		return number
	case "decimal":
		return number && scale == 0 && size >= sizes[column]
	}
	return false
}

// checkShape returns a [TableError] if a compare-and-swap could succeed twice in the
// table.
func (s *store) checkShape(ctx context.Context, t table) (found shape, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) (err error) {
		found, err = s.dialect().shape(ctx, conn, t)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("shape of table %s: %w", t.quoted, err)
	}
	return found, s.tableError(s.dialect().flaws(found, t, s.namespace)...)
}

func (s *store) tableError(flaws ...Flaw) error {
	if len(flaws) == 0 {
		return nil
	}
	return &TableError{Table: s.table.quoted, Flaws: flaws}
}

// checkWorker returns an error for a second record of a worker, which the table's key
// should have prevented, and for a worker number that no store has written.
func (s *store) checkWorker(records map[int]lease.Record, worker int) error {
	if _, twice := records[worker]; twice {
		return s.tableError(Flaw{
			Found: fmt.Sprintf("worker %d of namespace %q has two rows", worker, s.namespace),
			Want:  "one",
			Fix:   s.dialect().rebuild(s.table),
		})
	}
	if worker < layoutKey || worker != int(int32(worker)) {
		return s.tableError(Flaw{
			Found: fmt.Sprintf("namespace %q has a row of worker %d", s.namespace, worker),
			Want:  "at least -1 and 32 bits",
			Fix:   fmt.Sprintf("DELETE FROM %s WHERE worker_id = %d", s.table.quoted, worker),
		})
	}
	return nil
}

// flaws returns the reasons why the table cannot be used for the namespace. The result
// is empty if it can.
func (d *dialect) flaws(found shape, t table, namespace string) []Flaw {
	switch found.kind {
	case "":
	case aView:
		return []Flaw{{Found: "it is " + aView, Want: "a plain table", Fix: "stop every process that leases workers, and name the table that the view reads in WithTable"}}
	default:
		return []Flaw{{Found: "it is " + found.kind, Want: "a plain table", Fix: cmp.Or(found.fix, d.rebuild(t))}}
	}
	flaws := found.flaws
	for _, name := range []string{"namespace", "worker_id", "bound", "owner"} {
		flaws = append(flaws, d.columnFlaws(found.columns[name], t, name)...)
	}
	if found.columns["namespace"].pads && strings.HasSuffix(namespace, " ") {
		flaws = append(flaws, Flaw{
			Found: fmt.Sprintf("namespace is %s, which ignores the blank at the end of %q", found.columns["namespace"].typ, namespace),
			Want:  d.typeOf("namespace"),
			Fix:   d.alterColumn(t, "namespace"),
		})
	}
	return append(flaws, d.keyFlaws(found.keys, t)...)
}

func (d *dialect) columnFlaws(c column, t table, name string) []Flaw {
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

func (d *dialect) keyFlaws(keys []uniqueKey, t table) []Flaw {
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

func eachRow(ctx context.Context, conn execer, query string, args []any, scan func(*sql.Rows) error) error {
	began := time.Now()
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return unanswered(ctx, query, began, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return unanswered(ctx, query, began, rows.Err())
}

func (d *dialect) alterColumn(t table, column string) string {
	if d.alter == "" {
		return d.rebuild(t)
	}
	typ := d.typeOf(column)
	plain, _, _ := strings.Cut(typ, " COLLATE ")
	return fmt.Sprintf(d.alter, t.quoted, column, typ, plain)
}

// rebuild returns instructions and SQL that replace any table by a new table. The SQL
// merges all rows of a worker into the highest bound, which is safe while no process
// holds the worker.
func (d *dialect) rebuild(t table) string {
	name := t.name[:min(len(t.name), maxIdentifier-len("_old"))] + "_old"
	old, newName := d.qualified(t.schema, name), d.qualified("", name).quoted
	if d.renameQualified {
		newName = old.quoted
	}
	create := strings.Join(strings.Fields(d.create(t)), " ")
	return "stop every process that leases workers, wait for one window, and run " +
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s; %s ", t.quoted, newName, create) +
		fmt.Sprintf("INSERT INTO %s SELECT namespace, worker_id, MAX(bound), MAX(owner) FROM %s GROUP BY namespace, worker_id", t.quoted, old.quoted)
}
