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

	// quote quotes a name for use in SQL.
	quote(t tableName) string

	// foldsNames reports whether names of columns that differ in case only
	// are equal.
	foldsNames() bool

	// absent reports whether an error means that a table or its schema does
	// not exist.
	absent(err error) bool

	// likelyReferences are the queries for columns that may be references.
	likelyReferences() likelyQueries

	// afterFailure says what a phase that has failed has changed, of which
	// that many statements have been carried out. all is true if the failure
	// came after the last one.
	afterFailure(changed int, all bool) string
}

// likelyQueries find columns of a schema, by default the current one. Each has
// a table and a column in a row; one that is empty finds nothing.
type likelyQueries struct {
	// narrow finds the columns that would hold keys but no Snowflake IDs. Its
	// argument is the schema.
	narrow string

	// other finds those among them that have a foreign key, and the views,
	// which have no name of a column. The schema is its argument twice.
	other string

	// types finds the columns that may tell which table another one, of the
	// same name with _id, refers to. Its argument is the schema.
	types string
}

// nothingChanged is for a phase that is one transaction.
const nothingChanged = "nothing of this phase has been changed"

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
