package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/types"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const (
	writerLock = "the database's only writer lock, until the end of the transaction; readers continue in WAL mode, and wait for the commit in others"

	guardMessage = "table %s: key %s is missing or not positive: Snowflake IDs are assigned by the program, and no longer by the database"
)

func (in *inspection) plan() *engine.Result {
	result := &engine.Result{}
	detach, guard := plan.Phase{Name: plan.Detach}, plan.Phase{Name: plan.Guard}
	for _, t := range in.affected {
		result.Tables = append(result.Tables, in.public(t))
		c := in.key(t)
		if c == nil {
			continue
		}
		in.findBlockers(t, c)
		if text, ok := withoutAutoincrement(t.text); ok {
			detach.Steps = append(detach.Steps, t.detach(text))
			detach.Check = append(detach.Check, t.detachCheck(c, in.want.Issued)...)
		}
		if in.needsGuard(t, c) {
			guard.Steps = append(guard.Steps, t.guard(c))
		}
		in.describe(t, c)
	}
	for _, phase := range []plan.Phase{detach, guard} {
		phase.Transaction = true
		if len(phase.Steps) > 0 {
			result.Phases = append(result.Phases, phase)
		}
	}
	if len(detach.Steps) > 0 {
		in.note("SQLite still assigns a key that is omitted, without AUTOINCREMENT as with it: only the trigger of phase guard refuses the row.")
	}
	if len(result.Phases) > 0 {
		in.noteCascades()
	}
	result.Blockers, result.Notes = in.blockers, in.notes
	return result
}

func (in *inspection) public(t *table) plan.Table {
	table := plan.Table{Name: t.name, Rows: t.rows, MaxKey: types.ID(t.largest)}
	for _, c := range t.columns {
		if !in.moved[c.id] {
			continue
		}
		column := plan.Column{Name: c.name, Type: c.typ, Key: c.key > 0}
		if _, ok := withoutAutoincrement(t.text); ok && c.key > 0 {
			column.Auto = "autoincrement"
		}
		for _, e := range c.refers {
			to := in.column(e.to)
			column.Refers = append(column.Refers, in.tables[e.to.table].name+"."+to.name)
		}
		slices.Sort(column.Refers)
		table.Columns = append(table.Columns, column)
	}
	return table
}

// findBlockers finds keys that cannot be Snowflake IDs, or be in use with them.
func (in *inspection) findBlockers(t *table, c *column) {
	column := fmt.Sprintf("column %s of table %s", c.name, t.name)
	if !c.integer() {
		in.block(t.name, column, fmt.Sprintf("its type is %q, which is not an integer's", c.typ), "change the type to integer, or leave the table out")
		return
	}
	if t.odd > 0 {
		in.block(t.name, column, counted(t.odd, "row has", "rows have")+" a key that is NULL or no integer", "give them keys, or delete them")
	}
	if t.largest >= in.want.Ahead {
		in.block(t.name, column, fmt.Sprintf(engine.AheadReason, t.largest), engine.AheadFix)
	}
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return engine.Thousands(n) + " " + many
}

// describe adds what to know of a table.
func (in *inspection) describe(t *table, c *column) {
	if !t.rowid() && len(t.keys()) == 1 && c.integer() && !in.withoutRowid(t) {
		in.note("Column %s of table %s is %s and not INTEGER, so it has an index in addition to the rowid: it holds Snowflake IDs, in about half as much space again. The table is not rebuilt, because that can lose rows of others.", c.name, t.name, c.typ)
	}
	if t.smallest.Valid && t.smallest.Int64 < 1 {
		in.note("Table %s has a key %d. It stays; the trigger checks new rows only.", t.name, t.smallest.Int64)
	}
	for _, trigger := range in.triggers {
		if insertsInto(trigger.text, t.name) {
			in.note("Trigger %s inserts into table %s: after phase guard it must give each row its key.", trigger.name, t.name)
		}
	}
}

// noteCascades warns of the next step that many take.
func (in *inspection) noteCascades() {
	parents := map[string]bool{}
	for _, e := range in.edges {
		if e.cascades && in.moved[e.to] {
			parents[in.tables[e.to.table].name] = true
		}
	}
	if len(parents) > 0 {
		in.note("Do not let GORM's AutoMigrate add a constraint to %s while foreign keys are on: it drops and rebuilds the table, which deletes the rows that refer to it by ON DELETE CASCADE, and the trigger.",
			strings.Join(slices.Sorted(maps.Keys(parents)), ", "))
	}
}

// withoutRowid reads the text: old versions have no pragma for it.
func (*inspection) withoutRowid(t *table) bool {
	tokens := tokens(t.text)
	for i := range len(tokens) - 1 {
		if isWord(tokens[i], "without") && isWord(tokens[i+1], "rowid") {
			return true
		}
	}
	return false
}

func (t *table) detach(text string) plan.Step {
	down := rewrite(t.name, text, t.text)
	if t.sequence.Valid {
		// VACUUM can have removed it.
		down = append(down, plan.Statement{SQL: fmt.Sprintf(
			"INSERT INTO main.sqlite_sequence (name, seq) SELECT %[1]s, %[2]d WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_sequence WHERE name = %[1]s)",
			literal(t.name), t.sequence.Int64)})
	}
	return plan.Step{
		Table: t.name,
		Text:  "the key is no longer AUTOINCREMENT",
		Up:    rewrite(t.name, t.text, text),
		Down:  down,
		Locks: writerLock,
	}
}

// detachCheck is for keys from which AUTOINCREMENT must not continue: they are
// issued too.
func (t *table) detachCheck(c *column, limit int64) []plan.Statement {
	return failUnless(
		fmt.Sprintf("NOT EXISTS (SELECT 1 FROM main.%s WHERE %s >= %d)", quote(t.name), quote(c.name), limit),
		fmt.Sprintf("table %s has Snowflake IDs, from which AUTOINCREMENT would continue: want all below %d", t.name, limit))
}

// needsGuard leaves out keys that refer to others, which have a guard of their
// own, and keys of several columns.
func (in *inspection) needsGuard(t *table, c *column) bool {
	if len(t.keys()) != 1 || slices.ContainsFunc(c.refers, func(e edge) bool { return e.enforced && e.to != e.from }) {
		return false
	}
	for _, trigger := range in.triggers {
		if fold(trigger.name) != fold(guardName(t)) {
			continue
		}
		if trigger.text != guardText(t, c, "") {
			in.block(t.name, "trigger "+trigger.name, "it has the name of the guard and another text", "drop or rename it")
		}
		return false
	}
	return true
}

func guardName(t *table) string { return t.name + "_snowflake_guard" }

// guardText makes use of the value -1 that NEW has for a rowid that SQLite
// is going to assign. A key that is not the rowid would be NULL.
func guardText(t *table, c *column, option string) string {
	return fmt.Sprintf("CREATE TRIGGER %s%s BEFORE INSERT ON %s FOR EACH ROW WHEN coalesce(NEW.%s, 0) < 1 BEGIN SELECT RAISE(ABORT, '%s'); END",
		option, quote(guardName(t)), quote(t.name), quote(c.name),
		escape(oneLine(fmt.Sprintf(guardMessage, t.name, c.name))))
}

func (t *table) guard(c *column) plan.Step {
	return plan.Step{
		Table: t.name,
		Text:  fmt.Sprintf("a trigger refuses rows whose %s is missing or not positive", c.name),
		Up:    statementsOf(guardText(t, c, "IF NOT EXISTS main.")),
		Down:  statementsOf("DROP TRIGGER IF EXISTS main." + quote(guardName(t))),
		Locks: writerLock,
	}
}
