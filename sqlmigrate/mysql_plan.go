package sqlmigrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

func (in *mysqlInspection) plan() *engine.Result {
	p := &engine.Result{Tables: in.planTables(), Blockers: in.blockers}
	if len(in.blockers) == 0 {
		p.Phases = in.phases()
	}
	p.Notes = in.notes
	return p
}

func (in *mysqlInspection) planTables() []engine.Table {
	var tables []engine.Table
	for _, columns := range mysqlByTable(slices.Concat(in.moved, in.resumed)) {
		t := columns[0].table
		table := engine.Table{Schema: t.name.Schema, Name: t.name.Name, Rows: t.rows, Bytes: t.bytes, MaxKey: keyID(t.maxKey)}
		for _, c := range columns {
			table.Columns = append(table.Columns, c.describe())
		}
		slices.SortFunc(table.Columns, func(a, b engine.Column) int { return strings.Compare(a.Name, b.Name) })
		tables = append(tables, table)
	}
	return tables
}

func (c *mysqlColumn) describe() engine.Column {
	described := engine.Column{Name: c.name, Type: c.columnType, Key: c.primary, Auto: c.assigned()}
	if c.widens() {
		described.To = c.wide.String()
	}
	if was := c.typ(); was.base != "" && was != mysqlTypeOf(c.columnType) {
		described.Type = was.String()
	}
	for _, to := range c.refers {
		described.Refers = append(described.Refers, to.String())
	}
	slices.Sort(described.Refers)
	return described
}

// phases puts the journal around what a failure could leave half-way, and what
// an earlier run has left of it around the first phase.
func (in *mysqlInspection) phases() []engine.Phase {
	widen, detach, guard := in.widenPhase(), in.detachPhase(), in.guardPhase()
	first := &widen
	if len(widen.Steps) == 0 && len(detach.Steps) > 0 {
		first = &detach
	}
	for _, phase := range []*engine.Phase{&widen, &detach} {
		entries := in.entries(phase.Name)
		if in.journal != nil && phase == first {
			entries = mysqlMerge(entries, in.journal.entries)
		}
		if len(phase.Steps) > 1 || in.journal != nil && phase == first {
			phase.Steps = mysqlJournalled(phase.Steps, entries)
		}
		in.rejectChanged(phase)
	}
	return slices.DeleteFunc([]engine.Phase{widen, detach, guard}, func(p engine.Phase) bool { return len(p.Steps) == 0 })
}

// refuseChanged comes before the journal.
func (in *mysqlInspection) rejectChanged(phase *engine.Phase) {
	if len(phase.Steps) == 0 {
		return
	}
	first, last := &phase.Steps[0], &phase.Steps[len(phase.Steps)-1]
	first.Up = append(in.unchangedFor(phase.Name, false), first.Up...)
	last.Down = append(in.unchangedFor(phase.Name, true), last.Down...)
}

func (in *mysqlInspection) entries(phase engine.PhaseName) []mysqlEntry {
	var entries []mysqlEntry
	if phase == engine.Detach {
		for _, c := range in.assigned() {
			entries = append(entries, mysqlEntry{mysqlColumnEntry, c.table.name, c.name, string(c.afterWiden())})
		}
		return entries
	}
	for _, c := range in.widened() {
		entries = append(entries, mysqlEntry{mysqlColumnEntry, c.table.name, c.name, string(c.definition)})
	}
	for _, f := range in.dropped() {
		entries = append(entries, mysqlEntry{mysqlForeignEntry, f.child, f.name, f.text})
	}
	return entries
}

// widened are the columns whose type changes.
func (in *mysqlInspection) widened() []*mysqlColumn {
	return slices.DeleteFunc(slices.Concat(in.moved, in.resumed), func(c *mysqlColumn) bool { return !c.widens() })
}

// assigned are the columns that the database assigns.
func (in *mysqlInspection) assigned() []*mysqlColumn {
	return slices.DeleteFunc(slices.Clone(in.moved), func(c *mysqlColumn) bool { return c.assigned() == "" })
}

// dropped are the foreign keys that have to be away while types change, and
// those that an unfinished run has dropped: by table, and in the order of their
// indexes, which a server may make anew when they are added back.
func (in *mysqlInspection) dropped() []mysqlForeignKey {
	seen := map[engine.TableName]bool{}
	var keys []mysqlForeignKey
	for _, c := range slices.Concat(in.moved, in.resumed) {
		if seen[c.table.name] {
			continue
		}
		seen[c.table.name] = true
		for _, f := range c.table.foreign {
			if len(in.columnsOf(f)) > 0 || in.journal.has(f) {
				keys = append(keys, f)
			}
		}
	}
	slices.SortFunc(keys, func(a, b mysqlForeignKey) int {
		return cmp.Or(strings.Compare(a.child.String(), b.child.String()), cmp.Compare(in.indexOf(a), in.indexOf(b)), strings.Compare(a.name, b.name))
	})
	return keys
}

// indexOf is the place of the index that is just for the foreign key, or -1.
func (in *mysqlInspection) indexOf(f mysqlForeignKey) int {
	return slices.IndexFunc(in.tables[f.child].elements, func(e string) bool { return mysqlIsIndexOf(e, f) })
}

func mysqlIsIndexOf(element string, f mysqlForeignKey) bool {
	return strings.HasPrefix(element, "KEY `") && slices.EqualFunc(f.columns, quotedNames(element)[1:], strings.EqualFold)
}

// columnsOf are those of the foreign key, on either side, that change.
func (in *mysqlInspection) columnsOf(f mysqlForeignKey) []*mysqlColumn {
	var columns []*mysqlColumn
	add := func(t *mysqlTable, names []string) {
		for _, name := range names {
			if t == nil {
				continue
			}
			if c := t.column(name); c != nil && c.widens() && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	add(in.tables[f.child], f.columns)
	add(in.tables[f.parent], f.refers)
	return columns
}

// cost is that of a rewrite, and with verify of a check of each row against
// another table.
func (in *mysqlInspection) cost(t *mysqlTable, verify bool) time.Duration {
	row, perByte, check := 1600*time.Nanosecond, 12.0, 2500*time.Nanosecond
	if !in.mariadb {
		row, perByte, check = 700*time.Nanosecond, 47.0, 3*time.Microsecond
	}
	cost := time.Duration(t.rows)*row + time.Duration(float64(t.bytes)*perByte)
	if verify {
		cost += time.Duration(t.rows) * check
	}
	return cost
}

func (in *mysqlInspection) rewrite(t *mysqlTable, step engine.Step, verify bool) engine.Step {
	step.Table, step.Rows, step.Bytes, step.Rewrites = t.name.String(), t.rows, t.bytes, true
	step.Estimate = in.cost(t, verify)
	step.Locks = "writes to the table wait until it is copied; reads wait for a moment at its end"
	return step
}

func mysqlAlter(t *mysqlTable, changes ...string) string {
	return "ALTER TABLE " + mysqlQuoteTable(t.name) + " " + strings.Join(changes, ", ")
}

func mysqlNamesOf(columns []*mysqlColumn) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = fmt.Sprintf("%s becomes %s", c.name, c.wide)
	}
	return strings.Join(names, ", ")
}
