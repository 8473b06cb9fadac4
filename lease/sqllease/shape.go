package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A TableError is the error of a store whose table cannot keep two processes from
// holding one worker, or already holds two records of one worker. The failed call has
// not written.
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
	schema  string // in which the table was found
	kind    string // for example aView; empty for a plain table
	fix     string // SQL for an error about this kind; empty for the SQL of rebuild
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

// A column is the description of a column of the table in the catalog.
type column struct {
	typ       string // the type as the database writes it
	exact     bool   // whether it holds all values of the store, and compares them byte by byte
	pads      bool   // whether it ignores blanks at the end in comparisons
	nullable  bool
	generated bool
}

// A uniqueKey is a unique index over namespace and worker_id alone. The defect, for example
// "is partial", is empty if the index allows only one row of each worker.
type uniqueKey struct{ name, defect string }

// readColumns reads the columns of the table. The query returns a row for each of them, with
// nine columns. These are the name, the type as the database writes it, the type, size and
// scale as the parameters of [holds], and the fields exact, pads, nullable and generated.
func (found *shape) readColumns(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
	found.columns = map[string]column{}
	return eachRow(ctx, conn, query, args, func(rows *sql.Rows) error {
		var name, typ string
		var size, scale int64
		var c column
		err := rows.Scan(&name, &c.typ, &typ, &size, &scale, &c.exact, &c.pads, &c.nullable, &c.generated)
		c.exact = c.exact && holds(name, typ, size, scale) // the query knows only how values compare
		found.columns[name] = c
		return err
	})
}

// readParts reads the parts of the shape that are not columns. In each row of the query, the
// first column names the part, and the next three contain its texts. For example, a row of
// the part "key" has the name of the key, the defect of the key, and an empty text.
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

// holds reports whether a column of this type can hold all values that the store writes to
// the column of that name. It returns true only for the types text, integer, bigint and
// decimal, and integer only for worker_id, because a bound needs more than 32 bits. The size
// is in characters or digits, and the scale is the number of decimal places. For example, a
// bound needs a decimal with 19 digits and the scale 0.
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
