// Package engine defines the interfaces between package sqlmigrate and its databases, and
// helpers that the databases share. Packages mysql, postgres and sqlite implement
// [Engine]; packages myonline and pgonline implement [Online]. Package sqlmigrate calls
// Inspect and Script, package run calls Run and Try, and package online calls the methods
// of Online.
//
// A move lets the keys of existing tables hold Snowflake IDs, and usually ends the
// assignment of keys by the database. An Engine plans it in phases: widen changes the
// types of columns, detach ends the assignment, and guard makes the database reject rows
// without a positive key. An Online widens the columns of large tables while programs use
// them.
package engine

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/internal/compatible"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// An Engine inspects and changes the tables of a kind of database.
type Engine interface {
	// Inspect finds the tables that references connect with the requested tables, and
	// returns either the phases of the move or its blockers. It only reads.
	Inspect(ctx context.Context, conn *sql.Conn, want Request) (*Result, error)

	// Try inserts keys into an empty copy of each table. If a copy rejects a key that
	// would be issued today, the finding is a blocker. If it rejects only the last key of
	// the layout, or if no copy of a table can be tried, the finding is a note. Try does
	// not change the tables, takes no lock for which a writer would have to wait, and
	// fires no trigger of a table. If the account may not create copies, Try adds a note
	// and returns.
	Try(ctx context.Context, conn *sql.Conn, t Trial) (Findings, error)

	// Run runs statements on conn, which no one else uses during the call. It changes the
	// settings of the connection, and restores them afterwards. On a database that can
	// undo changes of a schema, all statements are one transaction. On other databases
	// Run skips the statements that have been done already, as their Unless queries show.
	// Run calls done after each statement, also after a skipped statement; done is never
	// nil.
	Run(ctx context.Context, conn *sql.Conn, statements []plan.Statement, s Settings, done func(plan.Statement)) error

	// Transactions reports whether Run is one transaction. If it is, an error undoes all
	// statements of a call, and the caller repeats all of them. Otherwise, the statements
	// before the error are kept.
	Transactions() bool

	// LockTimeout reports whether err, which Run returned, means that another session
	// held a lock for too long or that there was a deadlock.
	LockTimeout(err error) bool

	// Script returns the text with which the migration tool of the format runs the
	// statements, which all belong to one direction. The caller writes the text to a file
	// or, for Goose, to one half of a file, after the line "-- +goose Up" or "-- +goose
	// Down". The text also sets up the connection, because the settings of the tool's
	// connection are unknown. It can contain "-- +goose NO TRANSACTION".
	Script(statements []plan.Statement, format Format) string

	// Quote returns a name with the quotation marks of the database.
	Quote(t plan.TableName) string

	// Absent reports whether err means that a table or its schema does not exist.
	Absent(err error) bool

	// Survey reads from the catalog the columns that are too narrow for a Snowflake ID,
	// and the facts by which package likely judges them. It reads the current schema and
	// the named schemas.
	Survey(ctx context.Context, conn *sql.Conn, schemas []string) (*Survey, error)

	// Sample returns rows with the values of columns of a table as text. From a large
	// table it reads a small part. It does not wait for a lock of the table.
	Sample(ctx context.Context, conn *sql.Conn, table plan.TableName, columns []NarrowColumn) ([][]sql.NullString, error)
}

// A Result is the part of a plan that [Engine.Inspect] computes.
type Result struct {
	Tables []plan.Table
	Phases []plan.Phase
	Findings
}

// A Request holds the arguments of [Engine.Inspect].
type Request struct {
	Tables     []plan.TableName
	References []Reference

	// Ahead is the smallest ID of the time a minute from now. A present key of this size
	// or more is a blocker, because a generator could later issue the same number. Ahead
	// is 0 if the epoch is in the future.
	Ahead int64

	// Issued is the smallest key that is taken for a Snowflake ID. A smaller key is taken
	// for a key that the database has assigned.
	Issued int64

	RecreateViews bool // drop the views that block the plan, and create them again

	Park  bool          // plan phase park instead of phases detach and guard, so that the database goes on assigning keys
	Place parking.Place // where phase park sets the counters, out of the range of IDs
}

// IsAhead reports whether key is a blocker because a generator could later issue the same
// number, see the field Ahead. A key that a parked counter has assigned is no such blocker.
// It is larger than present IDs on purpose, and no generator reaches it for years.
func (r Request) IsAhead(key int64) bool {
	return r.Ahead > 0 && key >= r.Ahead && !r.Place.Holds(types.ID(key))
}

// ParkStep returns the step that parks the counter of a table, such as AUTO_INCREMENT. To
// park a counter means to set it far above all IDs that generators issue in the next years.
// The keys that the parked counter still assigns then equal no ID. The way back sets the
// counter to present, which is its value today. setCounter returns the statements that set
// the counter to a value. locks describes the locks of the step for users.
func (r Request) ParkStep(table plan.TableName, locks string, present types.ID, setCounter func(types.ID) []plan.Statement) plan.Step {
	return plan.Step{Table: table, Text: "the counter is parked " + r.Place.String(), Up: setCounter(r.Place.ID), Down: setCounter(present), Locks: locks}
}

// AheadFix is the fix of a blocker for a key that is ahead of the clock.
const AheadFix = "if it is a Snowflake ID, correct the clock of this machine or of the one that issued it; " +
	"if not, give the row another key, or use a layout whose epoch is earlier"

// AheadReason is the reason of a blocker for a key that is ahead of the clock. Its
// argument is the key.
const AheadReason = "it holds key %v, which is more than a minute ahead of this machine's clock: IDs that are still to be issued could meet it"

// A Reference is a column that holds keys of another table, with or without a foreign
// key.
type Reference struct {
	Table    plan.TableName
	Column   string
	ToTable  plan.TableName
	ToColumn string
}

// CompositeNote is the format of a note on a table whose primary key has several columns,
// of which the database assigns none, so that it is unknown which column holds the IDs.
// Its arguments are the table and the number of columns.
const CompositeNote = "Table %s has a key of %d columns, none of them assigned by the database: only those that are connected with another key that is moved are changed."

// Settings apply to a statement or a step.
type Settings struct {
	LockTimeout time.Duration // zero means the timeout that the database is configured with
	Pool        *sql.DB       // for further connections; nil means that there are no others
	Pace        plan.Pace     // of an online move
}

// A Survey lists the columns that are too narrow for a Snowflake ID, and the facts by which
// package likely judges whether these columns hold keys. Both come from the catalog. A
// table of the current schema has no schema in its name.
type Survey struct {
	Current     string // the current schema
	Columns     []NarrowColumn
	Tables      []plan.TableName
	ForeignKeys []Reference
	TypeColumns []Reference // columns whose name ends with _type; only Table and Column are set
	Texts       []Text      // whose joins show which columns refer to which keys
}

// A NarrowColumn is a column that is too narrow for a Snowflake ID.
type NarrowColumn struct {
	Table    plan.TableName
	Name     string // for an attribute of a composite type, column.attribute
	Type     string
	Comment  string
	Assigned bool   // whether the database assigns the column, which is then a key of its own table
	Alone    bool   // whether the column alone is the primary key
	Change   string `row:"-"` // how to make the column wide, if a plan cannot do it
}

// String returns the name in the form that [plan.ParseColumn] reads.
func (c *NarrowColumn) String() string { return c.Table.String() + "." + plan.QuoteDotted(c.Name) }

// A Text is the definition of a view, function or trigger.
type Text struct{ Object, SQL string }

// CheckServer returns an error if the server is another product with the protocol of the
// expected one, for example TiDB, which has the protocol of MySQL. Such a server also has
// the same catalog tables. A plan from them might miss half of the schema, or rewrite a
// table that is spread over several machines. want names the expected product for the
// error, for example "MySQL or MariaDB".
func CheckServer(ctx context.Context, conn *sql.Conn, want string) error {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if other := compatible.Engine(version); other != "" { // "" for the expected product
		return fmt.Errorf("sqlmigrate: the server is %s (%s): want %s: move its tables with its own tools, as docs/engines.md shows", other, version, want)
	}
	return nil
}
