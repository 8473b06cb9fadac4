package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// findings are what an inspection has to report.
type findings struct {
	blockers []plan.Blocker
	notes    []string
}

func (f *findings) block(table, object, reason, fix string) {
	f.blockers = append(f.blockers, plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

func (f *findings) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (f *findings) add(more findings) {
	f.blockers, f.notes = append(f.blockers, more.blockers...), append(f.notes, more.notes...)
}
