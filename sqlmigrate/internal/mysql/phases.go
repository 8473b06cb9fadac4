package mysql

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// phasesOf are the phases that have steps, and what they leave undone. The journal is put
// around what a failure could leave half-way, and what an earlier run has left of it
// around the first phase.
func phasesOf(g *graph, want engine.Request) (phases []plan.Phase, found engine.Findings) {
	widen := widenPhase(g)
	if len(g.dropped) > 0 {
		found.Notes = append(found.Notes, widenNote)
	}
	var detach, guard, park plan.Phase
	if want.Park {
		park = parkPhase(g, want)
	} else {
		detach = detachPhase(g, want.Issued)
		var left engine.Findings
		guard, left = guardPhase(g)
		found.Add(left)
	}
	first := &widen
	if len(widen.Steps) == 0 && len(detach.Steps) > 0 {
		first = &detach
	}
	for _, phase := range []*plan.Phase{&widen, &detach} {
		entries, resumes := entriesOf(g, phase.Name), g.Journal.Exists && phase == first
		if resumes {
			entries = merge(entries, g.Journal.Entries)
		}
		if len(phase.Steps) > 1 || resumes {
			phase.Steps = journalled(phase.Steps, entries)
		}
		rejectChanged(g, phase)
	}
	phases = slices.DeleteFunc([]plan.Phase{widen, detach, guard, park}, func(p plan.Phase) bool { return len(p.Steps) == 0 })
	return phases, found
}

// entriesOf are what the journal has to keep of a phase.
func entriesOf(g *graph, phase plan.PhaseName) []mycatalog.Entry {
	var entries []mycatalog.Entry
	if phase == plan.Detach {
		for _, c := range g.assigned() {
			entries = append(entries, mycatalog.Entry{Kind: mycatalog.ColumnEntry, Table: c.Table.TableName, Name: c.Name, Definition: string(c.afterWiden())})
		}
		return entries
	}
	for _, c := range g.widened() {
		entries = append(entries, mycatalog.Entry{Kind: mycatalog.ColumnEntry, Table: c.Table.TableName, Name: c.Name, Definition: string(c.Definition)})
	}
	for _, f := range g.allDropped() {
		entries = append(entries, mycatalog.Entry{Kind: mycatalog.ForeignEntry, Table: f.Child, Name: f.Name, Definition: f.Text})
	}
	return entries
}

// rejectChanged comes before the journal.
func rejectChanged(g *graph, phase *plan.Phase) {
	if len(phase.Steps) == 0 {
		return
	}
	first, last := &phase.Steps[0], &phase.Steps[len(phase.Steps)-1]
	rejections := unchangedFor(g, phase.Name, false)
	if phase.Name == plan.Widen {
		rejections = append(rejections, rejectOrphansFirst(g)...)
	}
	first.Up = append(rejections, first.Up...)
	rejections = unchangedFor(g, phase.Name, true)
	if phase.Name == plan.Widen && g.parks {
		rejections = append(rejections, countersFit(g.widened())...)
	}
	last.Down = append(rejections, last.Down...)
}
