package sqlmigrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// pageWidth is the width of a printed plan, in characters.
const pageWidth = 100

// String is the plan for people: the blockers, the tables, and for
// each phase what is done, how long it takes and who has to wait. It is at most
// 100 characters wide, except for words that are longer, and is the same for the
// same plan.
func (p *Plan) String() string {
	var out page
	out.line(0, p.headline())
	out.blockers(p.Blockers)
	out.tables(p.Tables)
	for _, phase := range p.Phases {
		out.phase(&phase)
	}
	out.notes(p.Notes)
	return out.String()
}

func (p *Plan) headline() string {
	what := fmt.Sprintf("%s: %s", p.Dialect, engine.Count(len(p.Tables), "table"))
	switch {
	case len(p.Blockers) > 0:
		return what + ", " + engine.Count(len(p.Blockers), "blocker") + ": nothing will be changed"
	case p.Empty():
		return what + ", nothing to do"
	default:
		var total time.Duration
		for _, phase := range p.Phases {
			total += phase.estimate()
		}
		return what + ", " + engine.Count(len(p.Phases), "phase") + ", " + duration(total)
	}
}

func (p *Phase) estimate() time.Duration {
	var sum time.Duration
	for _, step := range p.Steps {
		sum += step.Estimate
	}
	return sum
}

// A page is written from top to bottom.
type page struct{ strings.Builder }

func (out *page) blockers(blockers []Blocker) {
	if len(blockers) == 0 {
		return
	}
	out.line(0, "\nBlocked by")
	for _, b := range blockers {
		out.line(2, fmt.Sprintf("%s: %s", b.Table, b.Object))
		out.line(4, b.Reason)
		out.line(4, "fix: "+b.Fix)
	}
}

func (out *page) tables(tables []Table) {
	if len(tables) == 0 {
		return
	}
	out.line(0, "\nTables")
	for _, t := range tables {
		line := t.qualified() + ": " + volume(t.Rows, t.Bytes)
		if t.MaxKey != 0 {
			line += ", largest key " + t.MaxKey.String()
		}
		out.line(2, line)
		for _, c := range t.Columns {
			out.line(4, c.String())
		}
	}
}

func (t *Table) qualified() string { return engine.TableName{Schema: t.Schema, Name: t.Name}.String() }

// String describes the column in one line.
func (c Column) String() string {
	words := []string{c.Name + " " + c.Type}
	if c.To != "" {
		words[0] += " -> " + c.To
	}
	if c.Key {
		words = append(words, "key")
	}
	if c.Auto != "" {
		words = append(words, c.Auto)
	}
	if len(c.Refers) > 0 {
		words = append(words, "refers to "+strings.Join(c.Refers, " and "))
	}
	return strings.Join(words, ", ")
}

func (out *page) phase(p *Phase) {
	out.line(0, fmt.Sprintf("\nPhase %s: %s, %s", p.Name, engine.Count(len(p.Steps), "step"), duration(p.estimate())))
	for _, step := range p.Steps {
		out.step(&step)
	}
}

func (out *page) step(s *Step) {
	out.line(2, s.Table+": "+s.Text)
	out.line(4, s.work())
	if s.Locks != "" {
		out.line(4, "locks: "+s.Locks)
	}
	for _, statement := range s.Up {
		out.line(6, statement.SQL+";")
	}
}

func (s *Step) work() string {
	of := volume(s.Rows, s.Bytes) + "; " + duration(s.Estimate)
	switch {
	case s.Rewrites:
		return "rewrites " + of
	case s.Rows == 0 && s.Bytes == 0:
		return "changes the catalog only; " + duration(s.Estimate)
	default:
		return "reads " + of
	}
}

func (out *page) notes(notes []string) {
	if len(notes) == 0 {
		return
	}
	out.line(0, "\nNotes")
	for _, note := range notes {
		out.item(2, "- ", note)
	}
}

// line writes text, each of its lines wrapped between words; what does not fit
// is indented once more.
func (out *page) line(indent int, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		lead := len(line) - len(strings.TrimLeft(line, " "))
		out.wrapped(indent+lead, indent+lead+2, "", line)
	}
}

func (out *page) item(indent int, mark, text string) {
	out.wrapped(indent, indent+len(mark), mark, text)
}

func (out *page) wrapped(first, next int, mark, text string) {
	row := strings.Repeat(" ", first) + mark
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(row)+1+utf8.RuneCountInString(word) > pageWidth {
			out.row(row)
			row, empty = strings.Repeat(" ", next), true
		}
		if !empty {
			row += " "
		}
		row, empty = row+word, false
	}
	out.row(row)
}

func (out *page) row(text string) {
	out.WriteString(strings.TrimRight(text, " ") + "\n")
}

// volume leaves out a size that the database does not tell.
func volume(rows, bytes int64) string {
	if bytes == 0 {
		return engine.Count(rows, "row")
	}
	return engine.Count(rows, "row") + ", " + size(bytes)
}

// size is in decimal units.
func size(bytes int64) string {
	value, unit := float64(bytes), 0
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	for value >= 999.5 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 {
		return engine.Count(bytes, "byte")
	}
	return significant(value) + " " + units[unit]
}

// duration has two digits: an estimate is not better than that.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return "at once"
	case d < time.Second:
		return fmt.Sprintf("about %d ms", d.Round(10*time.Millisecond).Milliseconds())
	case d < time.Minute:
		return "about " + significant(d.Seconds()) + " s"
	case d < time.Hour:
		return "about " + significant(d.Minutes()) + " min"
	default:
		return "about " + significant(d.Hours()) + " h"
	}
}

// significant shows a fraction of small numbers only.
func significant(x float64) string {
	if x < 9.95 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return engine.Thousands(int64(math.Round(x)))
}
