package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// stages returns the stages of the move, in the order in which they run. The steps in Back
// take a stage back. Stages copy and index have no Back, because the Back of stage prepare
// drops the new columns, and with them the copied values and the indexes.
func (g *graph) stages() []plan.Stage {
	return []plan.Stage{
		{
			Name:  plan.StagePrepare,
			Text:  "sequences count in 64 bits; each table gets new columns, and a trigger that keeps them equal to the old ones",
			Steps: g.prepare(), Back: g.prepareBack(),
		},
		{Name: plan.StageCopy, Text: "rows that were there before the trigger are copied in batches, parents before children", Steps: g.copy()},
		{Name: plan.StageIndex, Text: "the new columns get the same indexes", Steps: g.index()},
		{
			Name:  plan.StageConstrain,
			Text:  "all rows are compared, and a CHECK rejects later differences; the new columns get NOT NULL and foreign keys",
			Steps: g.constrain(), Back: g.constrainBack(),
		},
		{
			Name:  plan.StageSwap,
			Text:  "the new columns take the names, the defaults and the keys of the old columns; a trigger keeps the old columns equal, as far as a key fits their type",
			Steps: append([]plan.OnlineStep{g.swap()}, g.validateLate()...), Back: g.swapBack(),
		},
		{
			Name:  plan.StageFinish,
			Text:  "the old columns are dropped",
			Steps: g.drop(old, "; there is no way back"), NoWayBack: "old columns have been dropped",
		},
	}
}

// prepare returns the steps that let the sequences count in 64 bits, and add the new
// columns and the trigger. From then on, the trigger copies each written key to the new
// columns. Because of ENABLE ALWAYS, the trigger fires even in sessions that apply the
// changes of a replication.
func (g *graph) prepare() []plan.OnlineStep {
	steps := g.retype(func(*pgcatalog.Sequence) string { return "bigint" }, "counts in 64 bits")
	for _, t := range g.tables {
		sql := []string{t.alter(t.columns, "ADD COLUMN %s bigint", fresh)}
		// The new columns get the comments and the statistics targets of the old columns.
		// A negative target is the default. A partitioned table gets its target by ONLY,
		// because each partition has its own target.
		for _, m := range t.members {
			for _, c := range m.columns {
				sql = append(sql, pgsql.Comment("COLUMN "+m.Target()+"."+pgsql.Quote(fresh(c)), c.Comment)...)
				if c.Statistics >= 0 {
					sql = append(sql, fmt.Sprintf("ALTER TABLE %s%s ALTER COLUMN %s SET STATISTICS %d", pgsql.If(m.isPartitioned(), "ONLY "), m.Target(), pgsql.Quote(fresh(c)), c.Statistics))
				}
			}
		}
		sql = append(sql, t.forwardFunction(),
			"CREATE TRIGGER "+triggerName+" BEFORE INSERT OR UPDATE ON "+t.Target()+" FOR EACH ROW EXECUTE FUNCTION "+t.functionName()+"()",
			"ALTER TABLE "+t.Target()+" ENABLE ALWAYS TRIGGER "+triggerName)
		steps = append(steps, t.shortStep("add "+pgsql.Join(t.columns, ", ", fresh)+" and a trigger", sql...))
	}
	return steps
}

// retype returns the steps that change the type of the sequences that are narrower than
// bigint in the plan. newType returns the type that a sequence gets, and text describes the
// change for users.
func (g *graph) retype(newType func(*pgcatalog.Sequence) string, text string) []plan.OnlineStep {
	var steps []plan.OnlineStep
	seen := map[int64]bool{}
	for _, t := range g.tables {
		for _, c := range t.columns {
			for _, s := range c.sequences {
				if !endsEarly(s) || seen[s.OID] { // several columns may use a sequence
					continue
				}
				seen[s.OID] = true
				steps = append(steps, plan.OnlineStep{
					Table: t.Display, Text: "sequence " + s.Name + " " + text, Kind: plan.Short,
					SQL:   []string{"ALTER SEQUENCE " + s.Target() + " AS " + newType(s)},
					Locks: "SHARE ROW EXCLUSIVE on sequence " + s.Name + " for a moment: inserts that need a value wait",
				})
			}
		}
	}
	return steps
}

// endsEarly reports whether the type of the sequence has to be changed, because it is
// narrower than bigint. It excludes the sequence of an identity, which gets the type of its
// column when the swap creates the identity for the new column.
func endsEarly(s *pgcatalog.Sequence) bool { return !s.Internal && s.Type != "bigint" }

// prepareBack returns the steps that drop the triggers and the new columns, and give the
// sequences their types again.
func (g *graph) prepareBack() []plan.OnlineStep {
	return append(g.drop(fresh, ""), g.retype(func(s *pgcatalog.Sequence) string { return s.Type }, "gets its type back")...)
}

// drop returns the steps that drop the trigger of each table, and the columns whose names
// columnName returns, children before parents. These are the new columns (fresh) when stage
// prepare is taken back, and the old columns (old) in stage finish. warning is added to the
// texts of the steps.
func (g *graph) drop(columnName naming, warning string) []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, t := range slices.Backward(g.tables) {
		step := t.shortStep("drop the trigger and "+pgsql.Join(t.columns, ", ", columnName)+warning,
			"DROP TRIGGER IF EXISTS "+triggerName+" ON "+t.Target(),
			"DROP FUNCTION IF EXISTS "+t.functionName()+"()",
			t.alter(t.columns, "DROP COLUMN IF EXISTS %s", columnName))
		for _, m := range t.members[1:] { // the partitions; one that was detached during the move still has the columns
			step.SQL = append(step.SQL, "ALTER TABLE IF EXISTS "+m.Target()+" "+formatColumns(m.columns, ", ", "DROP COLUMN IF EXISTS %s", columnName))
		}
		steps = append(steps, step)
	}
	return steps
}

// copy returns the steps that fill the new columns of the existing rows, in batches, table
// by table and partition by partition. Further steps then vacuum the tables, because each
// updated row leaves an old version behind.
func (g *graph) copy() []plan.OnlineStep {
	var steps []plan.OnlineStep
	// A partitioned table has no rows of its own, so only its partitions are copied.
	for _, t := range slices.DeleteFunc(g.families(), (*table).isPartitioned) {
		step := t.readWhole(plan.Batches, copyRate, "copy "+pgsql.Join(t.columns, ", ", current)+" to "+pgsql.Join(t.columns, ", ", fresh),
			"the rows of a batch: a write to one of them waits until the batch is over; the copy does not wait for rows that others hold, but comes back for them",
			t.batchSQL()...)
		step.Target, step.Disk, step.Log = t.Target(), t.heap, t.rows*copyLog
		steps = append(steps, step)
	}
	for _, t := range g.tables {
		step := t.readWhole(plan.Long, vacuumRate, "remove the old versions of its rows, and gather statistics", shareUpdate,
			"VACUUM (ANALYZE, TRUNCATE false) "+t.Target())
		step.Bytes, step.Log = 2*t.heap, t.rows*vacuumLog // the heap has an old and a new version of each row
		steps = append(steps, step)
	}
	return steps
}

// batchSQL returns the statements of a batch, which updates the rows whose addresses (ctid)
// are from $1 to before $2. A ctid has a page and a position on it, such as (7,1), so that
// a batch needs no key and reads each page only once. A row that is inserted or moved
// before the position of the copy is not missed, because the trigger has filled its new
// columns.
//
// The last statement copies the rows. It returns the number of rows that had to be copied,
// and the number of rows that it has copied. It skips rows that other transactions have locked
// (SKIP LOCKED), so that the copy and these transactions do not wait for each other. Package
// online repeats the batch later for the skipped rows. If a trigger of a user would fire for
// the copy, an earlier statement turns such triggers off by session_replication_role.
func (t *table) batchSQL() []string {
	where := "ctid >= $1::text::tid AND ctid < $2::text::tid AND " + t.differsSQL(current, fresh)
	var sql []string
	if slices.ContainsFunc(gather(t, triggersOf), pgcatalog.Trigger.OnUpdate) {
		sql = append(sql, "SET LOCAL session_replication_role = replica")
	}
	return append(sql, "WITH found AS (SELECT count(*) AS n FROM "+t.Target()+" WHERE "+where+"),\n"+
		"copied AS (UPDATE "+t.Target()+" SET "+formatColumns(t.columns, ", ", "%s = %s", fresh, current)+"\n"+
		"  WHERE ctid = ANY (ARRAY(SELECT ctid FROM "+t.Target()+" WHERE "+where+" FOR NO KEY UPDATE SKIP LOCKED)) RETURNING 1)\n"+
		"SELECT (SELECT n FROM found), (SELECT count(*) FROM copied)")
}

// index returns the steps that build the indexes of the new columns. A partitioned table
// itself has no step, because the swap creates its index from those of its partitions.
func (g *graph) index() []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, t := range slices.DeleteFunc(g.families(), (*table).isPartitioned) {
		for _, i := range t.indexes {
			steps = append(steps, t.buildIndex(i, i.fresh(), t.freshDefinitions))
		}
	}
	return steps
}

// constrain returns the steps that compare the old and the new columns of all rows, and add
// the CHECKs, NOT NULL and foreign keys of the new columns.
func (g *graph) constrain() []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, t := range g.tables {
		steps = append(steps, t.countDifferences(current, fresh))
		steps = append(steps, t.addSameCheck(current, fresh)...)
		if notNull := t.setNotNull(fresh); notNull != nil {
			// This does not read the table, because addSameCheck has added a valid CHECK.
			steps = append(steps, t.shortStep("NOT NULL, which the CHECK has proved", notNull...))
		}
		for _, c := range gather(t, checksOf) {
			steps = append(steps, c.add(c.fresh(), c.table.freshDefinitions)...)
		}
	}
	// The other foreign keys, which are of or to partitioned tables, are added by the swap or
	// after it.
	for _, k := range g.earlyKeys {
		steps = append(steps, k.steps(k.fresh(), fresh)...)
	}
	return steps
}

// constrainBack returns the steps that take stage constrain back. They drop only the foreign
// keys that constrain adds on the new columns (earlyKeys), because the other constraints
// disappear when prepareBack drops these columns.
func (g *graph) constrainBack() []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, k := range g.earlyKeys {
		steps = append(steps, k.step("drop foreign key "+k.fresh(), "ACCESS EXCLUSIVE", exclusive,
			"ALTER TABLE "+k.child.Target()+" DROP CONSTRAINT IF EXISTS "+pgsql.Quote(k.fresh())))
	}
	return steps
}
