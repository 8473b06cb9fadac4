package sqlmigrate

import (
	"time"

	"github.com/gormflake/gormflake/types"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A Plan is what has to be done to move a set of connected tables, made by
// [Inspect]. It holds no connection. It describes the schema as it was then:
// inspect again before applying it to a schema that may have changed.
type Plan struct {
	// Dialect is GORM's name of the database: sqlite, mysql or postgres.
	Dialect string

	// Tables are the tables that were asked for and all that are connected
	// with them by references, sorted by name.
	Tables []Table

	// Blockers keep the plan from being carried out. While there are any,
	// nothing is written or changed.
	Blockers []Blocker

	// Phases are what is to be done, in order, without those that have
	// nothing to do.
	Phases []Phase

	// Notes are what the plan cannot do, and what to know before applying it.
	Notes []string

	engine engine.Engine // nil: the one of Dialect
}

// A Table is one of the connected set.
type Table struct {
	Schema, Name string // Schema is empty where the database has none, or it is the current one
	Columns      []Column
	Rows, Bytes  int64    // as the database estimates them; with indexes
	MaxKey       types.ID // the largest key in use, 0 if the table is empty
}

// A Column is a key, or refers to one.
type Column struct {
	Name string
	Type string // as the database writes it
	To   string // what it becomes in phase widen; empty if it stays
	Key  bool   // part of the primary key
	Auto string // how the database assigns it: serial, identity, auto_increment, autoincrement; empty if it does not

	// Refers lists the keys that the column refers to, as table.column.
	Refers []string
}

// A Blocker is an object of the database that keeps a statement of the plan from
// succeeding, or that would be broken by it.
type Blocker struct {
	Table  string
	Object string // as the database describes it: view v_orders, policy p on table orders
	Reason string
	Fix    string
}

// PhaseName names a phase.
type PhaseName string

// The phases, in their order.
const (
	Widen  PhaseName = "widen"
	Detach PhaseName = "detach"
	Guard  PhaseName = "guard"
)

// A Phase can be deployed apart from the next one.
type Phase struct {
	Name  PhaseName
	Steps []Step

	// Check are statements that fail, with an error that says why, if the
	// phase cannot be taken back: run before any Down, like those of the steps.
	Check []Statement
}

// A Step changes one table. Down takes it back; the steps of a phase are taken
// back in reverse order.
type Step struct {
	Table    string
	Text     string // what is done, in words
	Up, Down []Statement

	// Check are statements that fail, with an error that says why, if the step
	// cannot be taken back.
	Check []Statement

	// Transaction numbers the transactions of a phase, on databases that have
	// them for such statements: successive steps of the same number are one.
	Transaction int

	Rows, Bytes int64         // that are rewritten or read; zero if the step changes the catalog only
	Rewrites    bool          // the table is copied
	Locks       string        // in words: what is locked, and what has to wait
	Estimate    time.Duration // on the machine of the measurements that the package's documentation names
}

// A Statement is one SQL statement, without a semicolon at its end.
type Statement struct {
	SQL string

	// Unless is a query for one row with one value: if that is true, the
	// statement has been done already and is left out. It makes a plan
	// resumable where the database has no transactions for such statements.
	// Empty means: always.
	Unless string
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return len(p.Phases) == 0 }
