package sqlmigrate

import (
	"context"
	"database/sql"
	"time"
)

// An engine is one database's part of the work.
type engine interface {
	// inspect finds the connected set of what is wanted and plans what is to
	// be done about it, or what stands in its way. It reads only.
	inspect(ctx context.Context, conn *sql.Conn, want request) (*Plan, error)

	// run carries statements out on a connection of their own, which it puts
	// right for that and afterwards back: in one transaction where the
	// database has that for such statements, and else one by one, leaving out
	// those that have been done. done is called after each, also after one
	// that was left out; it is never nil.
	run(ctx context.Context, conn *sql.Conn, statements []Statement, s settings, done func(Statement)) error

	// script is the text of a migration file, or of one half of it, that does
	// the same under the tool of the format, on a connection over which
	// nothing is known. The lines "-- +goose Up" and "-- +goose Down" are not
	// part of it; "-- +goose NO TRANSACTION" is.
	script(statements []Statement, format Format) string
}

// engines are those of GORM's dialects.
var engines = map[string]engine{
	"mysql":    mysqlEngine{},
	"postgres": postgresEngine{},
	"sqlite":   sqliteEngine{},
}

// A request is what Inspect was asked for.
type request struct {
	tables     []tableName
	references []reference
	limit      int64 // keys in use must be below: the generator's next one
}

// A tableName has an empty schema where none was given.
type tableName struct{ schema, name string }

// A reference is a column that holds keys of another table, whether or not the
// database has a constraint for it.
type reference struct {
	table    tableName
	column   string
	toTable  tableName
	toColumn string
}

// noteComposite is for a table and how many columns its key has. Once the
// database assigns none of them, there is no telling which one it was.
const noteComposite = "Table %s has a key of %d columns, none of them assigned by the database: only those that are connected with another key that is moved are changed."

// settings are those of Apply and Revert.
type settings struct {
	lockTimeout time.Duration // zero: the database's own
	pool        *sql.DB       // for other connections; nil: there are none
}
