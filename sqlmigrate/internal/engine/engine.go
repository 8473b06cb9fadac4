// Package engine is what package sqlmigrate and its databases have in common:
// what a database is asked for, and what it answers.
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

// An Engine is one database's part of the work.
type Engine interface {
	// Inspect finds the connected set of what is wanted and plans what is to
	// be done about it, or what blocks that. It reads only.
	Inspect(ctx context.Context, conn *sql.Conn, want Request) (*Result, error)

	// Try puts keys into a copy of each table that may reject one; it has no rows. A row
	// of today's that the copy rejects is a blocker, one of the layout's last a note, and
	// so is a table of which no copy can be tried. It changes nothing, takes no lock that
	// a writer waits for, fires no trigger of a table. Without the right to create a copy,
	// nothing is tried, which is a note.
	Try(ctx context.Context, conn *sql.Conn, t Trial) (Findings, error)

	// Run carries statements out on a connection of their own, which it sets
	// up for that and restores afterwards: in one transaction where the
	// database has that for such statements, and else one by one, leaving out
	// those that have been done. done is called after each, also after one
	// that was left out; it is never nil.
	Run(ctx context.Context, conn *sql.Conn, statements []plan.Statement, s Settings, done func(plan.Statement)) error

	// Transactions reports whether Run is one, so that all of it has to be
	// repeated after an error, or nothing of what has been done.
	Transactions() bool

	// LockTimeout reports whether an error of Run is that another connection
	// held a lock for too long.
	LockTimeout(err error) bool

	// Script is the text of a migration file, or of one half of it, that does
	// the same under the tool of the format, on a connection over which
	// nothing is known. The lines "-- +goose Up" and "-- +goose Down" are not
	// part of it; "-- +goose NO TRANSACTION" is.
	Script(statements []plan.Statement, format Format) string

	// Quote quotes a name for use in SQL.
	Quote(t plan.TableName) string

	// Absent reports whether an error means that a table or its schema does
	// not exist.
	Absent(err error) bool

	// Survey reads what the catalog shows of columns that are too narrow for a
	// Snowflake ID: in the current schema and in those named.
	Survey(ctx context.Context, conn *sql.Conn, schemas []string) (*Survey, error)

	// Sample returns values of columns of one table, as text, in rows. It reads
	// a small part of a large table, without waiting for a lock of it.
	Sample(ctx context.Context, conn *sql.Conn, table plan.TableName, columns []NarrowColumn) ([][]sql.NullString, error)
}

// A Result is what a database's part of a plan is made of.
type Result struct {
	Tables []plan.Table
	Phases []plan.Phase
	Findings
}

// A Request is what Inspect was asked for.
type Request struct {
	Tables     []plan.TableName
	References []Reference
	Ahead      int64 // a key in use from here on is ahead of the clock, by more than clocks differ; 0: before the epoch
	Issued     int64 // a key from here on is taken for a Snowflake ID; 0: before the epoch

	RecreateViews bool // drop views that block the plan, and create them again

	Park  bool // phase park instead of detach and guard
	Place parking.Place
}

// IsAhead reports whether a key blocks the plan: a parked counter has given none like it.
func (r Request) IsAhead(key int64) bool {
	return r.Ahead > 0 && key >= r.Ahead && !r.Place.Holds(types.ID(key))
}

// ParkStep parks a counter, which stands at from, by the statements of move.
func (r Request) ParkStep(table plan.TableName, locks string, from types.ID, move func(types.ID) []plan.Statement) plan.Step {
	return plan.Step{Table: table, Text: "the counter is parked " + r.Place.String(), Up: move(r.Place.ID), Down: move(from), Locks: locks}
}

// AheadFix is for a key that is [Request.Ahead].
const AheadFix = "if it is a Snowflake ID, correct the clock of this machine or of the one that issued it; " +
	"if not, give the row another key, or use a layout whose epoch is earlier"

// AheadReason is for the same.
const AheadReason = "it holds key %v, which is more than a minute ahead of this machine's clock: IDs that are still to be issued could meet it"

// A Reference is a column that holds keys of another table, whether or not the
// database has a constraint for it.
type Reference struct {
	Table    plan.TableName
	Column   string
	ToTable  plan.TableName
	ToColumn string
}

// CompositeNote is for a table and how many columns its key has. Once the
// database assigns none of them, there is no telling which one it was.
const CompositeNote = "Table %s has a key of %d columns, none of them assigned by the database: only those that are connected with another key that is moved are changed."

// Settings are for one statement or step.
type Settings struct {
	LockTimeout time.Duration // zero: the database's own
	Pool        *sql.DB       // for other connections; nil: there are none
}

// A Survey is what a catalog shows of columns that may hold keys. The schema of a
// table is empty if it is the current one.
type Survey struct {
	Current     string // the current schema
	Columns     []NarrowColumn
	Tables      []plan.TableName
	ForeignKeys []Reference
	TypeColumns []Reference // columns whose name ends with _type: Table and Column
	Texts       []Text
}

// A NarrowColumn is too narrow for a Snowflake ID.
type NarrowColumn struct {
	Table    plan.TableName
	Name     string // in a column of a composite type: column.attribute
	Type     string
	Comment  string
	Assigned bool   // by the database, so it is a key of its own table
	Alone    bool   // is the primary key
	Change   string `row:"-"` // how it is made wide, if no plan does that
}

// String is the name as [ParseColumn] reads it.
func (c *NarrowColumn) String() string { return c.Table.String() + "." + plan.QuoteDotted(c.Name) }

// A Text is the definition of a view, function or trigger.
type Text struct{ Object, SQL string }

// CheckServer refuses a server that only speaks the protocol of what is wanted.
// Its catalog answers, but a plan made from it could leave out half of the
// schema, or rewrite a table that is spread over machines.
func CheckServer(ctx context.Context, conn *sql.Conn, want string) error {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if found := compatible.Engine(version); found != "" {
		return fmt.Errorf("sqlmigrate: the server is %s (%s): want %s: move its tables with its own tools, as docs/engines.md shows", found, version, want)
	}
	return nil
}

// Findings are what blocks a plan, what its phases leave undone, and what else people
// should know.
type Findings struct {
	Blockers []plan.Blocker
	Omitted  []plan.Omission
	Notes    []string
}

// Block adds a blocker of a table.
func (f *Findings) Block(table plan.TableName, object, reason, fix string) {
	f.Blockers = append(f.Blockers, plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

// Omit adds what a phase leaves undone in a table, whose other phases can do their work.
func (f *Findings) Omit(phase plan.PhaseName, table plan.TableName, object, reason, fix string) {
	f.Omitted = append(f.Omitted, plan.Omission{Phase: phase, Blocker: plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix}})
}

// Note adds a note.
func (f *Findings) Note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Add adds what something else has found.
func (f *Findings) Add(more Findings) {
	f.Blockers, f.Omitted, f.Notes = append(f.Blockers, more.Blockers...), append(f.Omitted, more.Omitted...), append(f.Notes, more.Notes...)
}
