// Package plan defines the values of a move. Package sqlmigrate re-exports them as
// aliases. The database packages fill them: a Plan of sqlmigrate is made of [Table],
// [Blocker] and [Phase] values, an OnlinePlan of [Stage] values. The package has no
// access to a database.
package plan

import (
	"strings"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A Table is a table of the connected set, with its keys and references.
type Table struct {
	Schema, Name string // Schema is empty for the current schema, and for databases without schemas
	Columns      []Column
	Rows, Bytes  int64    // estimates of the database; Bytes includes indexes
	MaxKey       types.ID // the largest key in use; 0 if the table is empty

	// NotAnalyzed reports that the database has no estimate of the rows. Rows is then 0.
	NotAnalyzed bool
}

// TableName returns the name of the table.
func (t *Table) TableName() TableName { return TableName{t.Schema, t.Name} }

// A Column is a key, or a column that refers to a key.
type Column struct {
	Name string
	Type string // the present type, as the database writes it
	To   string // the type after phase widen; empty if the type does not change
	Key  bool   // whether the column is part of the primary key
	Auto string // how the database assigns the column: serial, identity, auto_increment, autoincrement, default or [Computed]; empty if it does not

	// Refers lists the keys to which the column refers, as table.column.
	Refers []string
}

// Computed is the value of [Column.Auto] for a key whose default is not a counter, for
// example the result of a function. Phase detach keeps this default.
const Computed = "computed"

// String returns a line about the column, for example "id integer -> bigint, key, serial".
func (c Column) String() string {
	words := []string{c.Name + " " + c.Type}
	if c.To != "" {
		words[0] += " -> " + c.To
	}
	if c.Key {
		words = append(words, "key")
	}
	if c.Auto != "" {
		words = append(words, c.Auto)
	}
	if len(c.Refers) > 0 {
		words = append(words, "refers to "+strings.Join(c.Refers, " and "))
	}
	return strings.Join(words, ", ")
}

// A Blocker is an object of the database that makes a statement of the plan fail, or that
// the statement would break.
type Blocker struct {
	Table  TableName
	Object string // as the database describes it, for example view v_orders, or policy p on table orders
	Reason string
	Fix    string

	// InPlace reports that the object only prevents a change of the column's type in
	// place. An online move creates a new column instead, so it ignores this blocker; it
	// has blockers of its own.
	InPlace bool `json:"-"`
}

// An Omission is work that a phase leaves undone because of an object of the database.
// The statements of the plan succeed nevertheless.
type Omission struct {
	Phase PhaseName
	Blocker
}

// A LikelyReference is a column that is too narrow for a Snowflake ID and may hold keys,
// although the schema does not prove it.
type LikelyReference struct {
	Column string   // in the form that WithReference accepts
	Type   string   // the type, as the database writes it
	Keys   []string // the keys that the column may hold, the most likely first; empty if it may hold any key
	Reason string   // the evidence, for example "its name"

	// Change tells how to make the column wide if a plan cannot do it, because the column
	// has an array, a domain or a composite type. Otherwise it is empty.
	Change string
}

// A PhaseName names a phase.
type PhaseName string

// The phases, in their order. A plan has either Park, or Detach and Guard.
const (
	Widen  PhaseName = "widen"
	Detach PhaseName = "detach"
	Guard  PhaseName = "guard"
	Park   PhaseName = "park"
)

// A Phase is a part of a plan that can be deployed apart from the next phase.
type Phase struct {
	Name  PhaseName
	Steps []Step

	// Transaction reports whether the steps run in transactions, which [Step.Transaction]
	// numbers. Until its end, a transaction holds its locks, and the database keeps the old
	// version of each table that the transaction copies.
	Transaction bool

	// Check are statements that fail with an explanation if the phase cannot be taken
	// back. Like the checks of the steps, they run before any Down.
	Check []Statement
}

// A Step changes one table. Up makes the change and Down takes it back. The steps of a
// phase are taken back in reverse order.
type Step struct {
	Table    TableName
	Text     string // the change, in words
	Up, Down []Statement

	// Check are statements that fail with an explanation if the step cannot be taken
	// back.
	Check []Statement

	// Transaction is the number of the step's transaction in its phase. Successive steps
	// with the same number run in one transaction. Databases without transactions for
	// such statements ignore it.
	Transaction int

	Rows, Bytes int64         // the rows and bytes that the step rewrites or reads; zero if it only changes the catalog
	Rewrites    bool          // whether the step copies the table
	Locks       string        // the locks, and the statements that have to wait for them, in words
	Estimate    time.Duration // the duration on the machine that docs/measurements.md names
}

// A Statement is a single SQL statement, without a semicolon at its end.
type Statement struct {
	SQL string

	// Unless is a query for a single boolean. If the query returns true, the statement
	// has already been done and is skipped. Such queries make a plan resumable on
	// databases without transactions for such statements. If Unless is empty, the
	// statement always runs.
	Unless string
}

// Progress describes the statement that Apply or Revert of a plan runs next.
type Progress struct {
	Phase PhaseName

	// Table and Step identify the step of the statement, and SQL is the statement that
	// begins now. All are empty after the last statement of the phase.
	Table     TableName
	Step, SQL string

	// Done is the number of statements of this phase that have been applied or skipped,
	// out of Of.
	Done, Of int
	// Retry counts how often the statement has waited too long for a lock. If Retry is
	// not 0, the statement is tried again after Wait, and Err is the error of the
	// database. On databases with transactions, the statements before it in the
	// transaction are repeated too.
	Retry int
	Wait  time.Duration
	Err   error

	// Elapsed is the time since the call of Apply or Revert.
	Elapsed time.Duration
}

// Estimate returns how long the steps of the phase take together.
func (p *Phase) Estimate() time.Duration {
	var sum time.Duration
	for _, step := range p.Steps {
		sum += step.Estimate
	}
	return sum
}
