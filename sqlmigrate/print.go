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

// Text returns the plan for people: a summary, the blockers, the code that fails after the
// move, the work that is left undone, the columns that may hold keys but are not moved,
// the notes, and the tables. For each phase it contains the work, the duration and the
// statements that have to wait. Without details, many objects of the same kind, for
// example views that block the plan, have one entry, which names three of them. The same
// plan always gives the same text.
func (p *Plan) Text(style Style) string {
	out := page{width: cmp.Or(style.Width, pageWidth)}
	out.line(0, p.headline())
	out.summary(p)
	out.obstacles("Blocked by", blockersOf(p.BlockingObjects()), style.Details)
	failing, notes := p.splitNotes()
	out.notes("Fails after the move", failing, style.Details)
	out.obstacles("Left undone", omittedOf(p.Omitted), style.Details)
	out.likely(p.Likely, style)
	out.notes("Notes", notes, style.Details)
	out.tables(p.Tables, style)
	out.phases(p.Phases, style)
	if out.shortened {
		out.line(0, "\nOf many objects of a kind, only the first are named. The details name all.")
	}
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

// headline returns the first line of the text, which describes the whole plan, for example
// "mysql: 2 tables, 3 phases, about 1.5 min".
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

// sizes returns the number of tables, their rows and their size in words, for example "2,
// 2,000 rows, 1.5 MB". The text "tables: " precedes it.
func (p *Plan) sizes() string {
	rows, bytes, unknown := p.Size()
	text := engine.Thousands(int64(len(p.Tables))) + ", " + volume(rows, bytes)
	if unknown > 0 {
		text += fmt.Sprintf(" (%d not analyzed: rows unknown)", unknown)
	}
	return text
}

// An obstacle is a blocker or an omission as the text prints it.
type obstacle struct {
	lead    string // precedes the object: "phase guard, " for an omission, or empty
	object  string
	tables  []TableName
	reasons []string
	fix     string
}

// blockersOf returns the obstacles for blocking objects.
func blockersOf(objects []BlockingObject) []obstacle {
	return engine.Converted(objects, func(b BlockingObject) obstacle { return obstacle{"", b.Object, b.Tables, b.Reasons, b.Fix} })
}

// omittedOf returns an obstacle for each part of the work that the phases leave undone.
func omittedOf(omissions []Omission) []obstacle {
	return engine.Converted(omissions, func(o Omission) obstacle {
		return obstacle{fmt.Sprintf("phase %s, ", o.Phase), o.Object, []TableName{o.Table}, []string{o.Reason}, o.Fix}
	})
}

// obstacles prints the obstacles below a title. If successive obstacles have the same
// fix, it prints the fix once, after the last of them. Without details, it prints one
// entry for many obstacles of a kind.
func (out *page) obstacles(title string, all []obstacle, details bool) {
	if len(all) == 0 {
		return
	}
	out.line(0, "\n"+title)
	merged := engine.Converted(groups(all, obstacle.kind, !details), mergedOf)
	out.shortened = out.shortened || len(merged) < len(all)
	for i, o := range merged {
		tables := engine.List(engine.Converted(o.tables, TableName.String))
		out.line(2, o.lead+o.object+", of "+out.names(tables, details)+": "+strings.Join(o.reasons, "; "))
		if i+1 == len(merged) || merged[i+1].fix != o.fix {
			out.line(4, "fix: "+o.fix)
		}
	}
}

// kind returns a key for grouping. Two obstacles have the same kind if their objects are
// of one type, for example views, and their fixes are equal up to a colon. The SQL after
// the colon names the object, so it always differs. For example, the key of the object
// "view v_orders" with the fix "drop it: DROP VIEW v_orders" is "view: drop it".
func (o obstacle) kind() string {
	object, _, _ := strings.Cut(o.object, " ")
	fix, _, _ := strings.Cut(o.fix, ": ")
	return o.lead + object + ": " + fix
}

// mergedOf returns one obstacle for a group of obstacles of the same kind, so that many of
// them take few lines. It has the objects, tables and reasons of the whole group. If there
// are many objects, its object is, for example, "view a, view b, view c and 3 more". If the
// fixes differ, its fix is that of the first object, for example "of view a: drop it: DROP
// VIEW a". If some reasons do not hold for all objects, its reasons begin with "for
// example: ".
func mergedOf(group []obstacle) obstacle {
	first := group[0]
	if len(group) == 1 {
		return first
	}
	var objects engine.List
	var tables []TableName
	var reasons []string
	for _, o := range group {
		objects = append(objects, o.name())
		for _, table := range o.tables {
			tables = engine.AppendNew(tables, table)
		}
		for _, reason := range o.reasons {
			reasons = engine.AppendNew(reasons, reason)
		}
	}
	// The variable reasons has the reasons of all obstacles of the group. If an obstacle has
	// fewer reasons, some of them do not hold for the object of this obstacle.
	differ := slices.ContainsFunc(group, func(o obstacle) bool { return len(o.reasons) < len(reasons) })
	if len(reasons) > engine.Few {
		reasons = append(reasons[:engine.Few], "and so on")
	}
	if differ {
		reasons[0] = "for example: " + reasons[0]
	}
	fix := first.fix
	if slices.ContainsFunc(group, func(o obstacle) bool { return o.fix != first.fix }) {
		fix = "of " + first.name() + ": " + fix
	}
	return obstacle{first.lead, objects.First(), tables, reasons, fix}
}

// name returns the object. If the object alone could be in several tables, as "primary key",
// it adds the table, for example "primary key of orders", unless the object names it already.
func (o obstacle) name() string {
	if len(o.tables) == 1 && isUniqueInTable(o.object) && !strings.Contains(o.object, " of table ") {
		return o.object + " of " + o.tables[0].String()
	}
	return o.object
}

// likely prints each column with the instruction that adds it to the plan. Without
// details, it prints one line for many columns of a kind.
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
	for _, group := range groups(columns, kindOfLikely, !style.Details) {
		l, and := group[0], ""
		if len(group) > 1 {
			and = ", and so on"
		}
		names := engine.List(engine.Converted(group, func(l LikelyReference) string { return l.Column + " " + l.Type }))
		out.line(2, fmt.Sprintf("%s, by %s: %s%s", out.names(names, style.Details), l.Reason, fixOf(&l, reference), and))
	}
	out.line(2, "For a column that holds no keys: "+notReference("COLUMN"))
}

// kindOfLikely returns a key for grouping columns. Two columns have the same key if they
// were found by the same kind of evidence, and the same kind of instruction adds them to
// the plan. The kind of evidence is the reason up to a comma or colon, for example "its
// values". The kind of instruction depends on whether a plan can change the column, and on
// whether the column may hold any key, a certain key, or one of several keys.
func kindOfLikely(l LikelyReference) string {
	reason, _, _ := strings.Cut(strings.ReplaceAll(l.Reason, ":", ","), ",")
	if !strings.HasPrefix(reason, "its ") { // the reason names a view, or code, that uses the column
		reason = "its use"
	}
	return fmt.Sprint(reason, l.Change != "", min(len(l.Keys), 2))
}

// groups returns the elements of list in groups, in the order of their first elements. All
// elements of a kind are one group if there are more than [engine.Few] of them and merge is
// true. Otherwise each element is a group.
func groups[T any](list []T, kind func(T) string, merge bool) (all [][]T) {
	byKind := map[string][]T{}
	for _, x := range list {
		byKind[kind(x)] = append(byKind[kind(x)], x)
	}
	for _, x := range list {
		switch group := byKind[kind(x)]; {
		case !merge || len(group) > 0 && len(group) <= engine.Few:
			all = append(all, []T{x})
		case len(group) > 0:
			all = append(all, group)
			byKind[kind(x)] = nil // so that further elements of the kind are skipped
		}
	}
	return all
}

// mostKeys is the largest number of keys that are listed for a column. If the column may
// hold more keys, the text only counts them.
const mostKeys = 5

// fixOf returns the instruction that includes the column in the plan, for example
// WithReference("audit.order_id", "orders.id"). If a plan cannot change the column, it
// returns the words that tell how to do it. reference is the function of [Style].
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

// statementCount returns the number of statements by which Apply runs the phase.
func statementCount(p *Phase) int {
	n := 0
	for _, step := range p.Steps {
		n += len(step.Up)
	}
	return n
}

// headlineOf returns a line about the phase, for example "Phase widen: 2 steps, about 1.5
// min".
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

// workOf returns a text about how much the step reads or rewrites, and how long it takes, for
// example "rewrites 2,000 rows, 1.5 MB; about 40 ms".
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

// splitNotes returns the notes on code that works today and fails after the move, and the
// other notes.
func (p *Plan) splitNotes() (failing, others []engine.Note) {
	for _, text := range p.Notes {
		note, ok := p.kinds[text]
		if !ok { // it does not come from an engine, so it is a kind of its own
			note = engine.Note{Text: text, Format: text}
		}
		if note.Fails {
			failing = append(failing, note)
		} else {
			others = append(others, note)
		}
	}
	return failing, others
}

// notes prints the notes as a list below the title. Notes of a kind have the same format.
// Without details, if there are many notes of a kind, it prints the first of them, and only
// the names of the objects in the further notes.
func (out *page) notes(title string, notes []engine.Note, details bool) {
	if len(notes) == 0 {
		return
	}
	out.line(0, "\n"+title)
	for _, group := range groups(notes, func(n engine.Note) string { return n.Format }, !details) {
		text := group[0].Text
		if !details {
			text = group[0].Short() // in which long lists of names are cut
		}
		if len(group) > 1 {
			names := engine.List{}
			for _, note := range group[1:] {
				// The name consists of the arguments that differ from the first note's.
				if name := note.Name(group[0]); name != "" {
					names = append(names, name)
				}
			}
			if len(names) > 0 {
				text += fmt.Sprintf(" There are such notes also for %s.", names.First())
			}
		}
		out.shortened = out.shortened || text != group[0].Text
		out.wrapped(2, 4, "- ", text)
	}
}

// names returns the names, separated by commas. Without details, it shortens a list of more
// than [engine.Few] names, for example to "a, b, c and 4 more".
func (out *page) names(list engine.List, details bool) string {
	if details || len(list) <= engine.Few {
		return list.String()
	}
	out.shortened = true
	return list.First()
}
