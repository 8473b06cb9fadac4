package sqlmigrate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Plan lists the statements that move a set of connected tables. [Inspect] creates it.
// It holds no connection. It describes the schema at the time of the inspection: if the
// schema may have changed since, inspect again before applying.
type Plan struct {
	// Dialect is GORM's name of the database: sqlite, mysql or postgres.
	Dialect string

	// Tables are the requested tables and all tables that references connect with them,
	// sorted by name.
	Tables []Table

	// Blockers are the objects because of which the plan cannot be applied. While there
	// is a blocker, no method writes a file or changes the database.
	Blockers []Blocker

	// Phases are the phases to apply, in order. A phase without work is not among them.
	Phases []Phase

	// Omitted lists the work that the phases leave undone. The phases can be applied
	// anyway; [Plan.Apply] then returns an error that lists the omissions.
	Omitted []Omission `json:",omitempty"`

	// Likely are columns that may hold keys of the tables, but that the plan does not
	// move. If such a column does hold keys, it is too narrow for the first Snowflake ID
	// that a program writes to it.
	Likely []LikelyReference

	// NotReferences are the columns that the caller excluded with [WithoutReference], as
	// table.column or schema.table.column.
	NotReferences []string

	// Notes describe the limits of the plan, and facts to know before applying it.
	Notes []string

	engine  engine.Engine // only set by tests; nil means the engine of Dialect
	trial   engine.Trial  // the keys that Apply inserts into copies of the tables after the last phase
	removed []Phase       // the phases that [Plan.Only] removed

	kinds map[string]engine.Note // the notes of the engine by their texts, which Text groups by kind
}

type (
	// A TableName is the name of a table. Its schema is empty for the current schema.
	TableName = plan.TableName
	// A Table is a table of the connected set.
	Table = plan.Table
	// A Column is a key, or a column that refers to a key.
	Column = plan.Column
	// A Blocker is an object because of which a statement of the plan would fail.
	Blocker = plan.Blocker
	// An Omission is work that a phase leaves undone.
	Omission = plan.Omission
	// A LikelyReference is a column that is too narrow for a Snowflake ID and may hold
	// keys, although the schema does not prove it. The user decides, with [WithReference]
	// or [WithoutReference].
	LikelyReference = plan.LikelyReference
	// A PhaseName names a phase.
	PhaseName = plan.PhaseName
	// Progress describes the statement that [Plan.Apply] or [Plan.Revert] runs next.
	Progress = plan.Progress
	// A Phase is a part of a plan that can be deployed apart from the next phase.
	Phase = plan.Phase
	// A Step changes one table.
	Step = plan.Step
	// A Statement is one SQL statement.
	Statement = plan.Statement
)

// The phases, in their order. With [WithParkedCounters], Park replaces Detach and Guard.
const (
	Widen  = plan.Widen
	Detach = plan.Detach
	Guard  = plan.Guard
	Park   = plan.Park
)

// Empty reports whether the plan has no phases.
func (p *Plan) Empty() bool { return len(p.Phases) == 0 }

// Only returns a copy of the plan that has only the named phases. The copy remembers the
// other phases, because some must be applied first, see [Plan.Err].
func (p *Plan) Only(names ...PhaseName) *Plan {
	part := *p
	part.Phases, part.Omitted, part.removed = nil, nil, slices.Clone(p.removed)
	for _, phase := range p.Phases {
		if slices.Contains(names, phase.Name) {
			part.Phases = append(part.Phases, phase)
		} else {
			part.removed = append(part.removed, phase)
		}
	}
	for _, o := range p.Omitted {
		if slices.Contains(names, o.Phase) {
			part.Omitted = append(part.Omitted, o)
		}
	}
	return &part
}

// Err returns nil, or one error that names every blocker, each on its own line. A part of
// a plan that [Plan.Only] returned can also be blocked by a phase that it does not have,
// for example detach by widen if the keys are still narrow.
func (p *Plan) Err() error { return errors.Join(errorOf(p.Blockers), p.work().ErrOrder()) }

// errorOf returns an error with a line for each blocker, or nil if there is none.
func errorOf(blockers []Blocker) error {
	return errors.Join(engine.Converted(blockers, func(b Blocker) error {
		return fmt.Errorf("sqlmigrate: table %s: blocked by %s: %s: %s", b.Table, b.Object, b.Reason, b.Fix)
	})...)
}

// work returns the part of the plan that package run applies or reverts.
func (p *Plan) work() run.Work {
	return run.Work{Dialect: p.Dialect, Phases: p.Phases, Excluded: p.removed, Omitted: p.Omitted, Trial: p.trial}
}
