package mysql

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// phasesOf returns the phases that have steps, a note if they drop foreign keys, and the
// findings of guardPhase on tables that get no CHECK. If phase widen or detach has several
// steps, an error could interrupt the phase half-way. Therefore the phase begins and ends
// with a step for the journal of original definitions ([mycatalog.JournalTable]). If there
// is an unfinished run, the first of these phases takes over the run's entries of this
// journal, and so completes the run.
func phasesOf(g *graph, want engine.Request) (phases []plan.Phase, found engine.Findings) {
	widen := widenPhase(g)
	if len(g.dropped) > 0 {
		found.Note(widenNote)
	}
	var detach, guard, park plan.Phase
	if want.Park {
		park = parkPhase(g, want)
	} else {
		detach = detachPhase(g, want.Issued)
		var omitted engine.Findings
		guard, omitted = guardPhase(g)
		found.Add(omitted)
	}
	// The first phase completes an unfinished run. If neither phase has steps, widen gets the
	// steps for the journal.
	first := &widen
	if len(widen.Steps) == 0 && len(detach.Steps) > 0 {
		first = &detach
	}
	// Add the journal, and the checks before the first change. Guard and park need neither,
	// because they remove no definition.
	for _, phase := range []*plan.Phase{&widen, &detach} {
		entries, resumes := entriesOf(g, phase.Name), g.Journal.Exists && phase == first
		if resumes {
			entries = mergeEntries(entries, g.Journal.Entries)
		}
		if len(phase.Steps) > 1 || resumes {
			phase.Steps = withJournal(phase.Steps, entries)
		}
		rejectChanged(g, phase)
	}
	phases = slices.DeleteFunc([]plan.Phase{widen, detach, guard, park}, func(p plan.Phase) bool { return len(p.Steps) == 0 })
	return phases, found
}

// entriesOf returns the journal's entries for a phase, which are the definitions that the
// phase changes or drops. They are the definitions at the beginning of the phase, so for
// phase detach the columns have their types after phase widen.
func entriesOf(g *graph, phase plan.PhaseName) []mycatalog.Entry {
	var entries []mycatalog.Entry
	if phase == plan.Detach {
		for _, c := range g.assignedColumns() {
			entries = append(entries, mycatalog.Entry{Kind: mycatalog.ColumnEntry, Table: c.Table.TableName, Name: c.Name, Definition: string(c.afterWiden())})
		}
		return entries
	}
	for _, c := range g.columnsToWiden() {
		entries = append(entries, mycatalog.Entry{Kind: mycatalog.ColumnEntry, Table: c.Table.TableName, Name: c.Name, Definition: string(c.Definition)})
	}
	for _, f := range g.allDropped() {
		entries = append(entries, mycatalog.Entry{Kind: mycatalog.ForeignEntry, Table: f.Child, Name: f.Name, Definition: f.Text})
	}
	return entries
}

// rejectChanged adds statements to the beginning of the phase. They fail if the schema has
// changed since the inspection or, in phase widen, if there are orphans. The way back
// begins with the last step, so rejectChanged adds such statements to the way back of the
// last step too. All these statements precede the statements that write the journal, so
// that a phase that fails has changed nothing.
func rejectChanged(g *graph, phase *plan.Phase) {
	if len(phase.Steps) == 0 {
		return
	}
	first, last := &phase.Steps[0], &phase.Steps[len(phase.Steps)-1]
	rejections := unchangedFor(g, phase.Name, false) // for the way up
	if phase.Name == plan.Widen {
		rejections = append(rejections, rejectOrphansFirst(g)...)
	}
	first.Up = append(rejections, first.Up...)
	rejections = unchangedFor(g, phase.Name, true) // for the way back
	if phase.Name == plan.Widen && g.parks {
		// Phase park has been taken back before, so the counters must fit now.
		rejections = append(rejections, countersFit(g.columnsToWiden())...)
	}
	last.Down = append(rejections, last.Down...)
}
