package engine

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Findings are what blocks a plan, and what else people should know.
type Findings struct {
	Blockers []plan.Blocker
	Notes    []string
}

// Block adds a blocker of a table.
func (f *Findings) Block(table, object, reason, fix string) {
	f.Blockers = append(f.Blockers, plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

// Note adds a note.
func (f *Findings) Note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Add adds what something else has found.
func (f *Findings) Add(more Findings) {
	f.Blockers, f.Notes = append(f.Blockers, more.Blockers...), append(f.Notes, more.Notes...)
}
