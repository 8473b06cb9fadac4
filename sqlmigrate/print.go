package sqlmigrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A Style sets how [Plan.Text] prints a plan. The zero value prints a summary.
type Style struct {
	Details bool // also print columns, and each step with its statements, locks and estimate
	Width   int  // the longest line in characters, unless a word is longer; 0 means 100

	// Reference and NotReference return the instruction by which a reader declares that a
	// column holds the key, or holds no keys. If they are nil, Text prints the options
	// [WithReference] and [WithoutReference].
	Reference    func(column, key string) string
	NotReference func(column string) string
}

// String returns the plan with all details.
func (p *Plan) String() string { return p.Text(Style{Details: true}) }

// Text returns the plan for people: a summary, the blockers, the columns that may hold
// keys but are not moved, the notes, and the tables. For each phase it contains the work,
// the duration and the statements that have to wait. The same plan always gives the same
// text.
func (p *Plan) Text(style Style) string {
	out := page{width: cmp.Or(style.Width, pageWidth)}
	out.line(0, p.headline())
	out.summary(p)
	out.blockers(p.BlockingObjects())
	out.omitted(p.Omitted)
	out.likely(p.Likely, style)
	out.notes(p.Notes)
	out.tables(p.Tables, style)
	out.phases(p.Phases, style)
	return out.String()
}

// SQL returns all statements in order, for review. Comments describe each step and its
// locks. Do not run this text: [Plan.Apply] and [Plan.WriteFiles] also set up the
// connection, and skip statements that have already been applied.
func (p *Plan) SQL() string {
	out := page{width: pageWidth, prefix: "-- "}
	out.line(0, p.headline())
	for _, phase := range p.Phases {
		out.WriteString("\n")
		out.line(0, headlineOf(&phase))
		if phase.Transaction {
			out.WriteString("BEGIN;\n")
		}
		for _, step := range phase.Steps {
			out.stepHead(0, &step)
			for _, statement := range step.Up {
				// The statements of a transaction are applied together, so the text names
				// no condition for a single one.
				if statement.Unless != "" && !phase.Transaction {
					out.line(2, "left out if this is true: "+statement.Unless)
				}
				out.WriteString(statement.SQL + ";\n")
			}
		}
		if phase.Transaction {
			out.WriteString("COMMIT;\n")
		}
	}
	return out.String()
}

// headline describes the plan in the first line of the text.
func (p *Plan) headline() string {
	start := fmt.Sprintf("%s: %s", p.Dialect, engine.Count(len(p.Tables), "table"))
	switch {
	case len(p.Blockers) > 0:
		return start + ", " + engine.Count(len(p.BlockingObjects()), "blocker") + ": nothing will be changed"
	case p.Empty():
		return start + ", nothing to do"
	default:
		return start + ", " + engine.Count(len(p.Phases), "phase") + ", " + duration(p.Estimate())
	}
}

// summary prints the sizes of the tables, the longest lock, and the disk space that the
// plan needs. Without work to do, it prints the sizes only.
func (out *page) summary(p *Plan) {
	if len(p.Tables) == 0 {
		return
	}
	out.line(0, "\nSummary")
	out.line(2, "tables: "+p.sizes())
	if p.Empty() {
		return
	}
	lock, phase := p.LongestLock()
	// A lock is held for "a moment", while other durations of less than 10 ms are "at
	// once".
	out.line(2, "longest lock: "+strings.Replace(duration(lock), "at once", "a moment", 1)+", in phase "+string(phase))
	if disk := p.Disk(); disk > 0 {
		out.line(2, "disk: "+size(disk)+" more for a while, and about as much log")
	}
}

// sizes describes how many tables and rows the plan has, and their size.
func (p *Plan) sizes() string {
	rows, bytes, unknown := p.Size()
	text := engine.Thousands(int64(len(p.Tables))) + ", " + volume(rows, bytes)
	if unknown > 0 {
		text += fmt.Sprintf(" (%d not analyzed: rows unknown)", unknown)
	}
	return text
}

// blockers prints the blocking objects. If successive objects have the same fix, it
// prints the fix once, after the last of them.
func (out *page) blockers(objects []BlockingObject) {
	if len(objects) == 0 {
		return
	}
	out.line(0, "\nBlocked by")
	for i, b := range objects {
		out.line(2, fmt.Sprintf("%s, of %s: %s", b.Object, strings.Join(engine.Converted(b.Tables, TableName.String), ", "), strings.Join(b.Reasons, "; ")))
		if i+1 == len(objects) || objects[i+1].Fix != b.Fix {
			out.line(4, "fix: "+b.Fix)
		}
	}
}

// omitted prints the work that the phases leave undone, each with its fix.
func (out *page) omitted(omissions []Omission) {
	if len(omissions) > 0 {
		out.line(0, "\nLeft undone")
	}
	for _, o := range omissions {
		out.line(2, fmt.Sprintf("phase %s, %s, of %s: %s", o.Phase, o.Object, o.Table, o.Reason))
		out.line(4, "fix: "+o.Fix)
	}
}

// likely prints each column with the instruction that adds it to the plan.
func (out *page) likely(columns []LikelyReference, style Style) {
	if len(columns) == 0 {
		return
	}
	reference, notReference := style.Reference, style.NotReference
	if reference == nil {
		reference = func(column, key string) string { return fmt.Sprintf("WithReference(%q, %q)", column, key) }
	}
	if notReference == nil {
		notReference = func(column string) string { return fmt.Sprintf("WithoutReference(%q)", column) }
	}
	out.line(0, "\nToo narrow for a Snowflake ID, may hold keys, and not moved")
	for _, l := range columns {
		out.line(2, fmt.Sprintf("%s %s, by %s: %s", l.Column, l.Type, l.Reason, fixOf(&l, reference)))
	}
	out.line(2, "For a column that holds no keys: "+notReference("COLUMN"))
}

// mostKeys is the largest number of keys that are listed for a column. If the column may
// hold more keys, the text only counts them.
const mostKeys = 5

// fixOf returns how to include the column in the plan. reference writes the instruction
// that declares the column to hold a key, see [Style].
func fixOf(l *LikelyReference, reference func(column, key string) string) string {
	switch {
	case l.Change != "":
		return l.Change
	case len(l.Keys) == 0:
		return reference(l.Column, "TABLE.KEY")
	case len(l.Keys) == 1:
		return reference(l.Column, l.Keys[0])
	case len(l.Keys) > mostKeys:
		return reference(l.Column, "TABLE.KEY") + fmt.Sprintf(", any of %d keys", len(l.Keys))
	}
	return reference(l.Column, l.Keys[0]) + ", or " + strings.Join(l.Keys[1:], ", ")
}

// mostTables is the largest number of tables that a text without details lists. If the
// plan has more, the text lists the largest tables.
const mostTables = 20

// tables prints a line for each table or, without details, for each of the largest
// tables.
func (out *page) tables(tables []Table, style Style) {
	if len(tables) == 0 {
		return
	}
	out.line(0, "\nTables")
	listed := tables
	if !style.Details && len(tables) > mostTables {
		listed = slices.Clone(tables)
		slices.SortStableFunc(listed, func(a, b Table) int { return cmp.Compare(b.Bytes, a.Bytes) })
		listed = listed[:mostTables]
	}
	for _, t := range listed {
		out.table(&t, style)
	}
	if rest := len(tables) - len(listed); rest > 0 {
		out.line(2, "and "+engine.Count(rest, "smaller one"))
	}
}

// table prints the size and the largest key of a table and, with details, its columns.
func (out *page) table(t *Table, style Style) {
	line := t.TableName().String() + ": "
	if t.NotAnalyzed {
		line += "not analyzed, " + size(t.Bytes)
	} else {
		line += volume(t.Rows, t.Bytes)
	}
	if t.MaxKey != 0 {
		line += ", largest key " + t.MaxKey.String()
	}
	out.line(2, line)
	for _, c := range t.Columns {
		if style.Details {
			out.line(4, c.String())
		}
	}
}

// phases prints a line for each phase or, with details, a paragraph for each phase with
// its steps and their statements.
func (out *page) phases(phases []Phase, style Style) {
	for i, phase := range phases {
		if i == 0 || style.Details {
			out.row("")
		}
		if !style.Details {
			out.line(0, headlineOf(&phase)+", "+engine.Count(statementCount(&phase), "statement"))
			continue
		}
		out.line(0, headlineOf(&phase))
		for _, step := range phase.Steps {
			out.stepHead(2, &step)
			for _, statement := range step.Up {
				out.line(6, statement.SQL+";")
			}
		}
	}
}

// statementCount returns the number of statements that apply the phase.
func statementCount(p *Phase) int {
	n := 0
	for _, step := range p.Steps {
		n += len(step.Up)
	}
	return n
}

// headlineOf describes the phase in one line, with its steps and its duration.
func headlineOf(p *Phase) string {
	return fmt.Sprintf("Phase %s: %s, %s", p.Name, engine.Count(len(p.Steps), "step"), duration(p.Estimate()))
}

// stepHead prints what a step does, how long it takes, and its locks.
func (out *page) stepHead(indent int, s *Step) {
	out.line(indent, s.Table.String()+": "+s.Text)
	out.line(indent+2, workOf(s))
	if s.Locks != "" {
		out.line(indent+2, "locks: "+s.Locks)
	}
}

// workOf describes how much the step reads or rewrites, and how long it takes.
func workOf(s *Step) string {
	amount := volume(s.Rows, s.Bytes) + "; " + duration(s.Estimate)
	switch {
	case s.Rewrites:
		return "rewrites " + amount
	case s.Rows == 0 && s.Bytes == 0:
		return "changes the catalog only; " + duration(s.Estimate)
	default:
		return "reads " + amount
	}
}

// notes prints the notes as a list.
func (out *page) notes(notes []string) {
	if len(notes) == 0 {
		return
	}
	out.line(0, "\nNotes")
	for _, note := range notes {
		out.wrapped(2, 4, "- ", note)
	}
}
