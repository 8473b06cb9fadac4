package engine

import (
	"time"

	"github.com/gormflake/gormflake/types"
)

// A Result is what a database's part of a plan is made of. Its parts are those
// of package sqlmigrate, where they are described.
type Result struct {
	Tables   []Table
	Blockers []Blocker
	Phases   []Phase
	Notes    []string
}

// A Table is one of the connected set.
type Table struct {
	Schema, Name string
	Columns      []Column
	Rows, Bytes  int64
	MaxKey       types.ID
}

// A Column is a key, or refers to one.
type Column struct {
	Name, Type, To string
	Key            bool
	Auto           string
	Refers         []string
}

// A Blocker keeps a statement of the plan from succeeding.
type Blocker struct{ Table, Object, Reason, Fix string }

// A PhaseName names a phase.
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
	Check []Statement
}

// A Step changes one table.
type Step struct {
	Table, Text string
	Up, Down    []Statement
	Check       []Statement
	Transaction int
	Rows, Bytes int64
	Rewrites    bool
	Locks       string
	Estimate    time.Duration
}

// A Statement is one SQL statement. Unless is a query that is true if it has
// been done already.
type Statement struct{ SQL, Unless string }
