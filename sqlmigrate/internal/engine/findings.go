package engine

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Findings are what blocks a plan, what its phases leave undone, and what else people
// should know.
type Findings struct {
	Blockers []plan.Blocker
	Omitted  []plan.Omission
	Notes    []string
}

// Block adds a blocker of a table.
func (f *Findings) Block(table, object, reason, fix string) {
	f.Blockers = append(f.Blockers, plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

// Omit adds what a phase leaves undone in a table, whose other phases can do their work.
func (f *Findings) Omit(phase plan.PhaseName, table, object, reason, fix string) {
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
