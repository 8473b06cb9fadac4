package mysql

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

func (in *inspection) plan() *engine.Result {
	p := &engine.Result{Tables: in.planTables(), Blockers: in.blockers}
	if len(in.blockers) == 0 {
		p.Phases = in.phases()
	}
	p.Notes = in.notes
	return p
}

func (in *inspection) planTables() []engine.Table {
	var tables []engine.Table
	for _, columns := range byTable(slices.Concat(in.moved, in.resumed)) {
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

func (c *column) describe() engine.Column {
	described := engine.Column{Name: c.name, Type: c.columnType, Key: c.primary, Auto: c.assigned()}
	if c.widens() {
		described.To = c.wide.String()
	}
	if was := c.typ(); was.base != "" && was != typeOf(c.columnType) {
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
func (in *inspection) phases() []engine.Phase {
	widen, detach, guard := in.widenPhase(), in.detachPhase(), in.guardPhase()
	first := &widen
	if len(widen.Steps) == 0 && len(detach.Steps) > 0 {
		first = &detach
	}
	for _, phase := range []*engine.Phase{&widen, &detach} {
		entries := in.entries(phase.Name)
		if in.journal != nil && phase == first {
			entries = merge(entries, in.journal.entries)
		}
		if len(phase.Steps) > 1 || in.journal != nil && phase == first {
			phase.Steps = journalled(phase.Steps, entries)
		}
		in.rejectChanged(phase)
	}
	return slices.DeleteFunc([]engine.Phase{widen, detach, guard}, func(p engine.Phase) bool { return len(p.Steps) == 0 })
}

// rejectChanged comes before the journal.
func (in *inspection) rejectChanged(phase *engine.Phase) {
	if len(phase.Steps) == 0 {
		return
	}
	first, last := &phase.Steps[0], &phase.Steps[len(phase.Steps)-1]
	rejections := in.unchangedFor(phase.Name, false)
	if phase.Name == engine.Widen {
		rejections = append(rejections, in.rejectOrphansFirst()...)
	}
	first.Up = append(rejections, first.Up...)
	last.Down = append(in.unchangedFor(phase.Name, true), last.Down...)
}

func (in *inspection) entries(phase engine.PhaseName) []entry {
	var entries []entry
	if phase == engine.Detach {
		for _, c := range in.assigned() {
			entries = append(entries, entry{columnEntry, c.table.name, c.name, string(c.afterWiden())})
		}
		return entries
	}
	for _, c := range in.widened() {
		entries = append(entries, entry{columnEntry, c.table.name, c.name, string(c.definition)})
	}
	for _, f := range in.dropped() {
		entries = append(entries, entry{foreignEntry, f.child, f.name, f.text})
	}
	return entries
}

// widened are the columns whose type changes.
func (in *inspection) widened() []*column {
	return slices.DeleteFunc(slices.Concat(in.moved, in.resumed), func(c *column) bool { return !c.widens() })
}

// assigned are the columns that the database assigns.
func (in *inspection) assigned() []*column {
	return slices.DeleteFunc(slices.Clone(in.moved), func(c *column) bool { return c.assigned() == "" })
}

// dropped are the foreign keys that have to be away while types change, and the
// ones that an unfinished run has dropped: by table, and in the order of their
// indexes, which a server may create again when they are added back.
func (in *inspection) dropped() []foreignKey {
	if in.foreign == nil {
		in.foreign = in.findDropped()
	}
	return slices.Clone(in.foreign)
}

func (in *inspection) findDropped() []foreignKey {
	seen := map[engine.TableName]bool{}
	keys := []foreignKey{}
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
	slices.SortFunc(keys, func(a, b foreignKey) int {
		return cmp.Or(strings.Compare(a.child.String(), b.child.String()), cmp.Compare(in.indexOf(a), in.indexOf(b)), strings.Compare(a.name, b.name))
	})
	return keys
}

// indexOf is the place of the index that is just for the foreign key, or -1.
func (in *inspection) indexOf(f foreignKey) int {
	return slices.IndexFunc(in.tables[f.child].elements, func(e string) bool { return isIndexOf(e, f) })
}

func isIndexOf(element string, f foreignKey) bool {
	return strings.HasPrefix(element, "KEY `") && slices.EqualFunc(f.columns, quotedNames(element)[1:], strings.EqualFold)
}

// columnsOf are the columns of the foreign key, on either side, that change.
func (in *inspection) columnsOf(f foreignKey) []*column {
	var columns []*column
	add := func(t *table, names []string) {
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

// cost estimates a rewrite and, with verify, a check of each row against
// another table.
func (in *inspection) cost(t *table, verify bool) time.Duration {
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

func (in *inspection) rewrite(t *table, step engine.Step, verify bool) engine.Step {
	step.Table, step.Rows, step.Bytes, step.Rewrites = t.name.String(), t.rows, t.bytes, true
	step.Estimate = in.cost(t, verify)
	step.Locks = "writes to the table wait until it is copied; reads wait for a moment at its end"
	return step
}

func alter(t *table, changes ...string) string {
	return "ALTER TABLE " + quoteTable(t.name) + " " + strings.Join(changes, ", ")
}

func namesOf(columns []*column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = fmt.Sprintf("%s becomes %s", c.name, c.wide)
	}
	return strings.Join(names, ", ")
}
