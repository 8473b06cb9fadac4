// Package plan has the values of which a plan of package sqlmigrate consists.
package plan

import (
	"strings"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A Table is one of the connected set.
type Table struct {
	Schema, Name string // Schema is empty where the database has none, or it is the current one
	Columns      []Column
	Rows, Bytes  int64    // as the database estimates them; with indexes
	MaxKey       types.ID // the largest key in use, 0 if the table is empty

	// NotAnalyzed: the database has no estimate of the rows, which are 0 then.
	NotAnalyzed bool
}

// TableName is the name of the table.
func (t *Table) TableName() TableName { return TableName{t.Schema, t.Name} }

// A Column is a key, or refers to one.
type Column struct {
	Name string
	Type string // as the database writes it
	To   string // what it becomes in phase widen; empty if it stays
	Key  bool   // part of the primary key
	Auto string // how the database assigns it: serial, identity, auto_increment, autoincrement, default, [Computed]; empty if it does not

	// Refers lists the keys that the column refers to, as table.column.
	Refers []string
}

// Computed is the Auto of a key with a default that gives no numbers of a counter. The
// default stays.
const Computed = "computed"

// String describes the column in one line.
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

// A Blocker is an object of the database that keeps a statement of the plan from
// succeeding, or that would be broken by it.
type Blocker struct {
	Table  TableName
	Object string // as the database describes it: view v_orders, policy p on table orders
	Reason string
	Fix    string

	// InPlace is true for what keeps a column from changing its type where it is. An
	// online move does not do that, and has blockers of its own.
	InPlace bool `json:"-"`
}

// An Omission is what a phase leaves undone, because of an object of the database
// that keeps no statement of the plan from succeeding.
type Omission struct {
	Phase PhaseName
	Blocker
}

// A LikelyReference is a column that is too narrow for a Snowflake ID and may hold keys,
// although nothing says so for certain.
type LikelyReference struct {
	Column string   // as WithReference takes it
	Type   string   // as the database writes it
	Keys   []string // that it may hold, the likeliest first; empty if it could be any
	Reason string   // in words: its name

	// Change says how to make the column wide where no plan does that: an array, a
	// domain, a composite type. Otherwise it is empty.
	Change string
}

// PhaseName names a phase.
type PhaseName string

// The phases, in their order. Park takes the place of the two before it.
const (
	Widen  PhaseName = "widen"
	Detach PhaseName = "detach"
	Guard  PhaseName = "guard"
	Park   PhaseName = "park"
)

// A Phase can be deployed apart from the next one.
type Phase struct {
	Name  PhaseName
	Steps []Step

	// Transaction: the statements are one, so their locks are held, and copies of
	// tables kept, until its end.
	Transaction bool

	// Check are statements that fail, with an error that says why, if the
	// phase cannot be taken back: run before any Down, like those of the steps.
	Check []Statement
}

// A Step changes one table. Down takes it back; the steps of a phase are taken
// back in reverse order.
type Step struct {
	Table    TableName
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
	Estimate    time.Duration // on the machine of the measurements that package sqlmigrate names
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

// Progress is what Apply or Revert of a plan is about to do.
type Progress struct {
	Phase PhaseName

	// Table and Step say what the statement belongs to, and SQL is the
	// statement that begins now. All are empty after the phase's last one.
	Table     TableName
	Step, SQL string

	// Done statements of Of in this phase are over, carried out or left out.
	Done, Of int
	// Retry counts how often the statement has waited too long for a lock. If
	// it is not 0, it is tried again after Wait, on databases with transactions
	// together with those before it, and Err is what the database said.
	Retry int
	Wait  time.Duration
	Err   error

	// Elapsed is the time since the call.
	Elapsed time.Duration
}

// Estimate is how long the steps of a phase take.
func (p *Phase) Estimate() time.Duration {
	var sum time.Duration
	for _, step := range p.Steps {
		sum += step.Estimate
	}
	return sum
}
