package sqlite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/internal/sqliteguard"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// writerLock describes the lock that each step takes.
const writerLock = "the database's only writer lock, until the end of the transaction; readers continue in WAL mode, and wait for the commit in others"

// plan returns the tables, the phases and the findings of a plan for the affected tables,
// which are those with moved columns. found has the findings so far. Phase detach removes
// AUTOINCREMENT, and phase guard creates a trigger for each key that needs it, by which the
// table rejects rows without a key. If want.Park is true, phase park replaces both. It sets
// the counters of AUTOINCREMENT so high that they assign no number that a generator issues
// in the next ten years, and SQLite goes on assigning keys.
func (s *schema) plan(affected []*table, want engine.Request, found engine.Findings) *engine.Result {
	result := &engine.Result{Findings: found}
	detach, guard, park := plan.Phase{Name: plan.Detach}, plan.Phase{Name: plan.Guard}, plan.Phase{Name: plan.Park}
	// Each table has at most one step in each phase. The phases without steps are left out
	// at the end.
	for _, t := range affected {
		result.Tables = append(result.Tables, t.planTable())
		c := t.key()
		if c == nil { // the table only refers to moved keys, so these phases do not concern it
			continue
		}
		result.Add(t.blockKey(c, want))
		needsGuard, guardFindings := s.needsGuard(t, c)
		if want.Park { // the plan has no phase guard, which could leave out a table
			guardFindings.Omitted = nil
			if t.autoincrement || !t.keyIsRowid() { // no guard is needed, because the counter is parked, or SQLite does not assign the key
				guardFindings.Blockers = nil
			}
		}
		switch {
		// The counter is below the limit, so it is not parked yet, and phase park parks it.
		case want.Park && t.autoincrement && t.sequence.Int64 < want.Place.Limit.Int64():
			park.Steps = append(park.Steps, t.park(want))
			park.Check = append(park.Check, t.detachCheck(c, want.Issued)...)
		// Without AUTOINCREMENT, SQLite assigns the largest key plus 1, so there is no
		// counter to park. Such a key blocks the plan if it needs a guard. A key needs no
		// guard if it refers to another key. It also needs none if the table already has a
		// guard, which rejects a row without a key.
		case want.Park && !t.autoincrement && needsGuard && t.keyIsRowid():
			guardFindings.Block(t.tableName(), "column "+c.Name, "without AUTOINCREMENT, SQLite continues from the largest key, and has no counter to park",
				"create the table again with AUTOINCREMENT, or detach and guard it, once no program inserts without a key")
		case want.Park: // the counter is parked already, or SQLite does not assign the key
		case t.autoincrement:
			detach.Steps = append(detach.Steps, t.detach())
			detach.Check = append(detach.Check, t.detachCheck(c, want.Issued)...)
		}
		if needsGuard && !want.Park {
			guard.Steps = append(guard.Steps, t.guard(c))
		}
		result.Add(guardFindings)
		if !want.Park && t.rowidAndIndex && len(t.keys()) == 1 && c.isInteger() {
			result.Note("Column %s of table %s is %s and not INTEGER, so it has an index in addition to the rowid: it holds Snowflake IDs, in about half as much space again. The table is not rebuilt, because that can lose rows of others.", c.Name, t.Name, c.Type)
		}
	}
	for _, phase := range []plan.Phase{detach, guard, park} {
		phase.Transaction = true // SQLite can undo changes of the schema
		if len(phase.Steps) > 0 {
			result.Phases = append(result.Phases, phase)
		}
	}
	if len(detach.Steps) > 0 {
		result.Note("SQLite still assigns a key that is omitted, without AUTOINCREMENT as with it: only the trigger of phase guard refuses the row.")
	}
	if len(result.Phases) > 0 {
		result.Add(s.noteCascades())
	}
	return result
}

// planTable returns the table with its moved columns, in the form of a plan.
func (t *table) planTable() plan.Table {
	table := plan.Table{Name: t.Name, Rows: t.Rows, MaxKey: types.ID(t.Largest.Int64)}
	for _, c := range t.columns {
		if !c.moved {
			continue
		}
		column := plan.Column{Name: c.Name, Type: c.Type, Key: c.Key > 0}
		if t.autoincrement && c.Key > 0 {
			column.Auto = "autoincrement"
		}
		for _, to := range c.refers {
			column.Refers = append(column.Refers, to.table.Name+"."+to.Name)
		}
		slices.Sort(column.Refers)
		table.Columns = append(table.Columns, column)
	}
	return table
}

// blockKey returns blockers for a key whose column cannot hold Snowflake IDs, or that has
// present values which are not valid.
func (t *table) blockKey(c *column, want engine.Request) (found engine.Findings) {
	block := func(reason, fix string) {
		found.Block(t.tableName(), fmt.Sprintf("column %s of table %s", c.Name, t.Name), reason, fix)
	}
	if !c.isInteger() {
		block(fmt.Sprintf("its type is %q, which is not an integer's", c.Type), "change the type to integer, or leave the table out")
		return found
	}
	if t.NonIntegers > 0 {
		has := " have"
		if t.NonIntegers == 1 {
			has = " has"
		}
		block(engine.Count(t.NonIntegers, "row")+has+" a key that is NULL or no integer", "give them keys, or delete them")
	}
	if want.IsAhead(t.Largest.Int64) {
		block(fmt.Sprintf(engine.AheadReason, t.Largest.Int64), engine.AheadFix)
	}
	return found
}

// noteCascades returns a note on GORM's AutoMigrate, because many users run it next. To
// add a constraint, AutoMigrate drops the table and creates it again. That deletes the
// rows of other tables that refer to it by ON DELETE CASCADE, and drops the trigger of
// phase guard. The note names the tables with moved keys to which such rows refer.
func (s *schema) noteCascades() (found engine.Findings) {
	parents := map[string]bool{}
	for _, e := range s.edges {
		if e.cascades && e.to.moved {
			parents[e.to.table.Name] = true
		}
	}
	if len(parents) > 0 {
		found.Note("Do not let GORM's AutoMigrate add a constraint to %s while foreign keys are on: it drops and rebuilds the table, which deletes the rows that refer to it by ON DELETE CASCADE, and the trigger.",
			engine.List(slices.Sorted(maps.Keys(parents))))
	}
	return found
}

// detach returns the step that removes AUTOINCREMENT from the table's SQL text in the
// catalog. The way back restores the text, and the counter if SQLite has removed it.
func (t *table) detach() plan.Step {
	down := rewrite(t.Name, t.withoutAuto, t.Text)
	if t.sequence.Valid {
		// VACUUM may have removed the row of the counter, together with the table
		// sqlite_sequence, which rewrite has created again.
		down = append(down, plan.Statement{SQL: fmt.Sprintf(
			"INSERT INTO main.sqlite_sequence (name, seq) SELECT %[1]s, %[2]d WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_sequence WHERE name = %[1]s)",
			literal(t.Name), t.sequence.Int64)})
	}
	return plan.Step{
		Table: t.tableName(),
		Text:  "the key is no longer AUTOINCREMENT",
		Up:    rewrite(t.Name, t.Text, t.withoutAuto),
		Down:  down,
		Locks: writerLock,
	}
}

// detachCheck returns statements that fail if column c holds Snowflake IDs, which are keys
// that are equal to limit or larger. They run before the way back of phase detach or park.
// With such a key, AUTOINCREMENT would continue after the largest ID, and assign IDs that a
// generator issues too.
func (t *table) detachCheck(c *column, limit int64) []plan.Statement {
	return failUnless(
		fmt.Sprintf("NOT EXISTS (SELECT 1 FROM main.%s WHERE %s >= %d)", quote(t.Name), quote(c.Name), limit),
		fmt.Sprintf("table %s has Snowflake IDs, from which AUTOINCREMENT would continue: want all below %d", t.Name, limit))
}

// park returns the step that sets the counter of AUTOINCREMENT so high that it assigns no
// number that a generator issues in the next ten years. The way back restores the value of
// the counter.
func (t *table) park(want engine.Request) plan.Step {
	return want.ParkStep(t.tableName(), writerLock, types.ID(t.sequence.Int64), func(to types.ID) []plan.Statement {
		return engine.Statements("", parking.SQLite("main.", literal(t.Name), to)...)
	})
}

// needsGuard reports whether the table of key c needs a guard and does not have it yet. A
// guard is a trigger that rejects rows without a positive key. A key that refers to another
// key does not need it, because the table of that key has a guard. Keys of several columns
// get no guard.
//
// found has an omission if a present key is not positive, and a blocker if another trigger
// has the name of the guard.
func (s *schema) needsGuard(t *table, c *column) (needs bool, found engine.Findings) {
	if len(t.keys()) != 1 || c.enforced || slices.ContainsFunc(c.refers, func(to *column) bool { return to != c }) {
		return false, found
	}
	if t.Smallest.Valid && t.Smallest.Int64 < 1 {
		found.NotPositive(t.tableName(), c.Name, t.Smallest.Int64, "the trigger checks new rows only")
	}
	trigger, exists := s.triggers[fold(sqliteguard.Name(t.Name))]
	// Compare with the statement without IF NOT EXISTS and without the schema, because
	// SQLite stores the text of a trigger in this form.
	if exists && trigger.Text != sqliteguard.Create("", t.Name, c.Name) {
		found.Block(t.tableName(), "trigger "+trigger.Name, "it has the name of the guard and another text", "drop or rename it")
	}
	return !exists, found
}

// guard returns the step that creates the guard, which is a trigger that rejects rows in
// which the key c is missing or not positive.
func (t *table) guard(c *column) plan.Step {
	return plan.Step{
		Table: t.tableName(),
		Text:  fmt.Sprintf("a trigger refuses rows whose %s is missing or not positive", c.Name),
		Up:    engine.Statements("", sqliteguard.Create("IF NOT EXISTS main.", t.Name, c.Name)),
		Down:  engine.Statements("", "DROP TRIGGER IF EXISTS main."+quote(sqliteguard.Name(t.Name))),
		Locks: writerLock,
	}
}
