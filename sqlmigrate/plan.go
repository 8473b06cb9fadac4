package sqlmigrate

import (
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
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

	// Likely are columns that may hold keys of the tables and are not moved. One
	// that does cannot hold the first Snowflake ID that is written to it.
	Likely []LikelyReference

	// NotReferences are the columns that [WithoutReference] has left out, as
	// they were given.
	NotReferences []string

	// Notes are what the plan cannot do, and what to know before applying it.
	Notes []string

	engine engine.Engine // nil: the one of Dialect
}

type (
	// A Table is one of the connected set.
	Table = plan.Table
	// A Column is a key, or refers to one.
	Column = plan.Column
	// A Blocker keeps a statement of the plan from succeeding.
	Blocker = plan.Blocker
	// PhaseName names a phase.
	PhaseName = plan.PhaseName
	// A Phase can be deployed apart from the next one.
	Phase = plan.Phase
	// A Step changes one table.
	Step = plan.Step
	// A Statement is one SQL statement.
	Statement = plan.Statement
)

// The phases, in their order. [WithParkedCounters] has the last in place of the two
// before it.
const (
	Widen  = plan.Widen
	Detach = plan.Detach
	Guard  = plan.Guard
	Park   = plan.Park
)

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return len(p.Phases) == 0 }

// Err returns nil, or one error that names every blocker, each on a line of its
// own.
func (p *Plan) Err() error { return errorOf(p.Blockers) }

func errorOf(blockers []Blocker) error {
	return errors.Join(converted(blockers, func(b Blocker) error {
		return fmt.Errorf("sqlmigrate: table %s: blocked by %s: %s: %s", b.Table, b.Object, b.Reason, b.Fix)
	})...)
}

func nameOf(t *Table) engine.TableName { return engine.TableName{Schema: t.Schema, Name: t.Name} }
