package sqlmigrate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
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

	// Omitted is what the phases leave undone. They can be applied all the same, and
	// the error of [Plan.Apply] has it then.
	Omitted []Omission `json:",omitempty"`

	// Likely are columns that may hold keys of the tables and are not moved. One
	// that does cannot hold the first Snowflake ID that is written to it.
	Likely []LikelyReference

	// NotReferences are the columns that [WithoutReference] has left out, as
	// they were given.
	NotReferences []string

	// Notes are what the plan cannot do, and what to know before applying it.
	Notes []string

	engine engine.Engine // nil: the one of Dialect
	trial  engine.Trial  // of the tables when all phases are over
	left   []Phase       // that were in the plan before [Plan.Only]
}

type (
	// A TableName is the name of a table, whose schema is empty where it is the current one.
	TableName = plan.TableName
	// A Table is one of the connected set.
	Table = plan.Table
	// A Column is a key, or refers to one.
	Column = plan.Column
	// A Blocker keeps a statement of the plan from succeeding.
	Blocker = plan.Blocker
	// An Omission is what a phase leaves undone.
	Omission = plan.Omission
	// A LikelyReference is a column that is too narrow for a Snowflake ID and may hold
	// keys, although nothing says so for certain. Whether it does is for people to say:
	// by [WithReference] or [WithoutReference].
	LikelyReference = plan.LikelyReference
	// PhaseName names a phase.
	PhaseName = plan.PhaseName
	// Progress is what [Plan.Apply] or [Plan.Revert] is about to do.
	Progress = plan.Progress
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

// Only returns the part of the plan that is these phases.
func (p *Plan) Only(names ...PhaseName) *Plan {
	part := *p
	part.Phases, part.Omitted, part.left = nil, nil, slices.Clone(p.left)
	for _, phase := range p.Phases {
		if slices.Contains(names, phase.Name) {
			part.Phases = append(part.Phases, phase)
		} else {
			part.left = append(part.left, phase)
		}
	}
	for _, o := range p.Omitted {
		if slices.Contains(names, o.Phase) {
			part.Omitted = append(part.Omitted, o)
		}
	}
	return &part
}

// Err returns nil, or one error that names every blocker, each on a line of its
// own. What blocks a part of a plan can be a phase that it leaves out.
func (p *Plan) Err() error { return errors.Join(errorOf(p.Blockers), p.work().ErrOrder()) }

func errorOf(blockers []Blocker) error {
	return errors.Join(engine.Converted(blockers, func(b Blocker) error {
		return fmt.Errorf("sqlmigrate: table %s: blocked by %s: %s: %s", b.Table, b.Object, b.Reason, b.Fix)
	})...)
}

// work is the part of the plan that is carried out.
func (p *Plan) work() run.Work {
	return run.Work{Dialect: p.Dialect, Phases: p.Phases, Left: p.left, Omitted: p.Omitted, Trial: p.trial}
}
