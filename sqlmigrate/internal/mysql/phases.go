package mysql

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// phasesOf returns the phases that have steps, and the work that they leave undone.
// Statements for the journal enclose each phase that an error could interrupt half-way.
// The entries of an unfinished run are part of the first phase.
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

// entriesOf returns the journal's entries for a phase. They are the definitions that the
// phase changes or drops.
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

// rejectChanged adds statements to the beginning of the phase, in both directions, that
// fail if the schema has changed since the inspection. They come before the journal is
// written.
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

func alter(t *mycatalog.Table, changes ...string) string {
	return "ALTER TABLE " + mycatalog.QuoteTable(t.TableName) + " " + strings.Join(changes, ", ")
}

// columnsAre returns a query that is true if each column of a table has its type of
// typeOf, which is (*column).to or (*column).from.
func columnsAre(columns []*column, typeOf func(*column) mycatalog.Integer) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE %s AND (%s)",
		len(columns), mycatalog.WhereTable(columns[0].Table.TableName), mycatalog.Join(columns, " OR ", func(c *column) string {
			return "(COLUMN_NAME = " + mycatalog.Literal(c.Name) + " AND " + typeOf(c).Condition() + ")"
		}))
}

func (c *column) from() mycatalog.Integer { return c.Integer() }

func (c *column) to() mycatalog.Integer { return c.wide }

const signal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "

// rejectUnless returns a statement that fails with text unless the query returns true. It
// cuts text to 128 characters, which is the limit of a SIGNAL's message.
func rejectUnless(text, unless string) plan.Statement {
	const most = 128
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return plan.Statement{SQL: signal + mycatalog.Literal(text), Unless: unless}
}

func unchecked(s ...plan.Statement) []plan.Statement {
	s = append([]plan.Statement{{SQL: "SET SESSION foreign_key_checks = 0"}}, s...)
	return append(s, plan.Statement{SQL: "SET SESSION foreign_key_checks = 1"})
}

// rewrite completes a step that copies the table.
func rewrite(g *graph, t *mycatalog.Table, step plan.Step) plan.Step {
	step.Table, step.Rows, step.Bytes, step.Rewrites = t.TableName, t.Rows, t.Bytes, true
	step.Estimate = CopyTime(t, g.MariaDB)
	step.Locks = "writes to the table wait until it is copied; reads wait for a moment at its end"
	return step
}

// CopyTime estimates how long the server needs to copy a table.
func CopyTime(t *mycatalog.Table, mariadb bool) time.Duration {
	row, perByte := 700*time.Nanosecond, 47.0
	if mariadb {
		row, perByte = 1600*time.Nanosecond, 12.0
	}
	return time.Duration(t.Rows)*row + time.Duration(float64(t.Bytes)*perByte)
}

// lookupTime estimates how long the server needs to look up each row of t in another
// table.
func lookupTime(t *mycatalog.Table, mariadb bool) time.Duration {
	if mariadb {
		return time.Duration(t.Rows) * 2500 * time.Nanosecond
	}
	return time.Duration(t.Rows) * 3 * time.Microsecond
}
