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

// plan returns the tables, the phases and the findings of a plan for the affected tables.
// Phase detach applies to keys with AUTOINCREMENT, and phase guard to all keys that need
// a guard. If want.Park is true, phase park replaces both. It moves the counters out of
// the range of IDs, and SQLite goes on assigning keys.
func (s *schema) plan(affected []*table, want engine.Request, found engine.Findings) *engine.Result {
	result := &engine.Result{Findings: found}
	detach, guard, park := plan.Phase{Name: plan.Detach}, plan.Phase{Name: plan.Guard}, plan.Phase{Name: plan.Park}
	for _, t := range affected {
		result.Tables = append(result.Tables, t.planTable())
		c := t.key()
		if c == nil {
			continue
		}
		result.Add(t.blockKey(c, want))
		needsGuard, guardFindings := s.needsGuard(t, c)
		switch {
		// A counter at the limit or above is parked already.
		case want.Park && t.autoincrement && t.sequence.Int64 < want.Place.Limit.Int64():
			park.Steps = append(park.Steps, t.park(want))
			park.Check = append(park.Check, t.detachCheck(c, want.Issued)...)
		// SQLite itself assigns such a key, but without a counter.
		case want.Park && !t.autoincrement && needsGuard && t.keyIsRowid():
			guardFindings.Block(t.tableName(), "column "+c.Name, "without AUTOINCREMENT, SQLite continues from the largest key, and has no counter to park",
				"create the table again with AUTOINCREMENT, or detach and guard it, once no program inserts without a key")
		case want.Park: // there is no counter to park, or it is parked
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

// blockKey adds a blocker for a key that cannot hold Snowflake IDs, or whose present
// values are not valid.
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

// noteCascades adds a note on AutoMigrate, because many users run it next. When it rebuilds
// a table, it can delete rows of other tables by a cascade, and the trigger of phase guard
// is dropped with the former table.
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

// detach returns the step that removes AUTOINCREMENT.
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

// detachCheck returns statements that fail if the table holds keys of limit or more. Such
// a key is a Snowflake ID. If AUTOINCREMENT came back, it would continue after this ID,
// and assign IDs that a generator issues too.
func (t *table) detachCheck(c *column, limit int64) []plan.Statement {
	return failUnless(
		fmt.Sprintf("NOT EXISTS (SELECT 1 FROM main.%s WHERE %s >= %d)", quote(t.Name), quote(c.Name), limit),
		fmt.Sprintf("table %s has Snowflake IDs, from which AUTOINCREMENT would continue: want all below %d", t.Name, limit))
}

// park returns the step that sets the counter so high that it assigns no number that a
// generator issues.
func (t *table) park(want engine.Request) plan.Step {
	return want.ParkStep(t.tableName(), writerLock, types.ID(t.sequence.Int64), func(to types.ID) []plan.Statement {
		return engine.Statements("", parking.SQLite("main.", literal(t.Name), to)...)
	})
}

// needsGuard reports whether the key needs a guard, which is a trigger that rejects rows
// without a positive key, and does not have it yet. A key that refers to another key does
// not need a guard, because the table of that key has it. Keys of several columns get no
// guard. If a guard would not be sufficient, needsGuard also returns findings.
func (s *schema) needsGuard(t *table, c *column) (needs bool, found engine.Findings) {
	if len(t.keys()) != 1 || c.enforced || slices.ContainsFunc(c.refers, func(to *column) bool { return to != c }) {
		return false, found
	}
	if t.Smallest.Valid && t.Smallest.Int64 < 1 {
		found.NotPositive(t.tableName(), c.Name, t.Smallest.Int64, "the trigger checks new rows only")
	}
	trigger, exists := s.triggers[fold(sqliteguard.Name(t.Name))]
	// The catalog has the text of a trigger without IF NOT EXISTS and without the schema.
	if exists && trigger.Text != sqliteguard.Create("", t.Name, c.Name) {
		found.Block(t.tableName(), "trigger "+trigger.Name, "it has the name of the guard and another text", "drop or rename it")
	}
	return !exists, found
}

// guard returns the step that creates the guard.
func (t *table) guard(c *column) plan.Step {
	return plan.Step{
		Table: t.tableName(),
		Text:  fmt.Sprintf("a trigger refuses rows whose %s is missing or not positive", c.Name),
		Up:    engine.Statements("", sqliteguard.Create("IF NOT EXISTS main.", t.Name, c.Name)),
		Down:  engine.Statements("", "DROP TRIGGER IF EXISTS main."+quote(sqliteguard.Name(t.Name))),
		Locks: writerLock,
	}
}
