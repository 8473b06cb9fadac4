package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

func (g *graph) stages() []engine.OnlineStage {
	return []engine.OnlineStage{
		{
			Name:  engine.StagePrepare,
			Text:  "sequences count in 64 bits; each table gets new columns, and a trigger that keeps them equal to the old ones",
			Steps: g.prepare(), Back: g.prepareBack(),
		},
		{Name: engine.StageCopy, Text: "rows that were there before the trigger are copied in batches, parents before children", Steps: g.copy()},
		{Name: engine.StageIndex, Text: "the new columns get the same indexes", Steps: g.index()},
		{
			Name:  engine.StageConstrain,
			Text:  "all rows are compared, and from then on by a CHECK; the new columns get NOT NULL and foreign keys",
			Steps: g.constrain(), Back: g.constrainBack(),
		},
		{
			Name:  engine.StageSwap,
			Text:  "the new columns take the names, the defaults and the keys of the old ones, which a trigger keeps equal where their type allows",
			Steps: []engine.OnlineStep{g.swap()}, Back: g.swapBack(),
		},
		{
			Name:  engine.StageFinish,
			Text:  "the old columns are dropped",
			Steps: g.finish(), NoWayBack: "old columns have been dropped",
		},
	}
}

// exclusive is for a moment.
const exclusive = "ACCESS EXCLUSIVE on %s for a moment: reads and writes wait"

// locked begins a short step: the first lock keeps no program out, but waits
// until autovacuum, which holds it for hours, has given way; the second one
// waits briefly for all tables together.
func locked(mode string, tables ...*table) []string {
	list := joined(tables, ", ", func(t *table) string { return t.Target() })
	return []string{
		"LOCK TABLE " + list + " IN SHARE UPDATE EXCLUSIVE MODE",
		"LOCK TABLE " + list + " IN " + mode + " MODE",
	}
}

func short(t *table, text string, sql ...string) engine.OnlineStep {
	return engine.OnlineStep{
		Table: t.Name, Text: text, Kind: engine.Short, SQL: append(locked("ACCESS EXCLUSIVE", t), sql...),
		Locks: fmt.Sprintf(exclusive, t.Name),
	}
}

func (g *graph) prepare() []engine.OnlineStep {
	steps := g.retype(func(*pgcatalog.Sequence) string { return "bigint" }, "counts in 64 bits")
	for _, t := range g.tables {
		sql := []string{"ALTER TABLE " + t.Target() + " " + joined(t.columns, ", ", func(c *column) string { return "ADD COLUMN " + pgsql.Quote(fresh(c)) + " bigint" })}
		for _, c := range t.columns {
			if c.Comment.Valid {
				sql = append(sql, "COMMENT ON COLUMN "+t.Target()+"."+pgsql.Quote(fresh(c))+" IS "+pgsql.Literal(c.Comment.String))
			}
			if c.Statistics >= 0 {
				sql = append(sql, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET STATISTICS %d", t.Target(), pgsql.Quote(fresh(c)), c.Statistics))
			}
		}
		sql = append(sql, t.forward(),
			"CREATE TRIGGER "+triggerName+" BEFORE INSERT OR UPDATE ON "+t.Target()+" FOR EACH ROW EXECUTE FUNCTION "+t.function()+"()",
			"ALTER TABLE "+t.Target()+" ENABLE ALWAYS TRIGGER "+triggerName)
		steps = append(steps, short(t, "add "+joined(t.columns, ", ", fresh)+" and a trigger", sql...))
	}
	return steps
}

// retype changes the type of sequences that end before a bigint does.
func (g *graph) retype(typ func(*pgcatalog.Sequence) string, text string) []engine.OnlineStep {
	var steps []engine.OnlineStep
	seen := map[int64]bool{}
	for _, t := range g.tables {
		for _, c := range t.columns {
			for _, s := range c.sequences {
				if !endsEarly(s) || seen[s.OID] {
					continue
				}
				seen[s.OID] = true
				steps = append(steps, engine.OnlineStep{
					Table: t.Name, Text: "sequence " + s.Name + " " + text, Kind: engine.Short,
					SQL:   []string{"ALTER SEQUENCE " + s.Target() + " AS " + typ(s)},
					Locks: "SHARE ROW EXCLUSIVE on sequence " + s.Name + " for a moment: inserts that need a value wait",
				})
			}
		}
	}
	return steps
}

// endsEarly reports whether a sequence ends before a bigint does. An identity's
// gets the type of its column.
func endsEarly(s *pgcatalog.Sequence) bool { return !s.Internal && s.Type != "bigint" }

func (g *graph) prepareBack() []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, t := range slices.Backward(g.tables) {
		steps = append(steps, short(t, "drop the trigger and "+joined(t.columns, ", ", fresh),
			append(t.dropSync(), t.dropColumns(fresh))...))
	}
	return append(steps, g.retype(func(s *pgcatalog.Sequence) string { return s.Type }, "gets its type back")...)
}

func (t *table) dropSync() []string {
	return []string{
		"DROP TRIGGER IF EXISTS " + triggerName + " ON " + t.Target(),
		"DROP FUNCTION IF EXISTS " + t.function() + "()",
	}
}

func (t *table) dropColumns(name naming) string {
	return "ALTER TABLE " + t.Target() + " " + joined(t.columns, ", ", func(c *column) string { return "DROP COLUMN IF EXISTS " + pgsql.Quote(name(c)) })
}

func (g *graph) copy() []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, t := range g.tables {
		steps = append(steps, engine.OnlineStep{
			Table: t.Name, Text: "copy " + joined(t.columns, ", ", current) + " to " + joined(t.columns, ", ", fresh), Kind: engine.Batches,
			SQL: g.batch(t), Target: t.Target(),
			Locks: "the rows of a batch: a write to one of them waits until the batch is over; the copy does not wait for rows that others hold, but comes back for them",
			Rows:  t.rows, Bytes: t.heap, Disk: t.heap, Log: t.rows * copyLog,
			Estimate: perRow(t.rows, copyRate),
		})
	}
	for _, t := range g.tables {
		steps = append(steps, engine.OnlineStep{
			Table: t.Name, Text: "remove the old versions of its rows, and gather statistics", Kind: engine.Long,
			SQL:   []string{"VACUUM (ANALYZE, TRUNCATE false) " + t.Target()},
			Locks: "SHARE UPDATE EXCLUSIVE: other changes of the table wait, reads and writes do not",
			Rows:  t.rows, Bytes: 2 * t.heap, Log: t.rows * vacuumLog, Estimate: perRow(t.rows, vacuumRate),
		})
	}
	return steps
}

// differs is a condition for rows that have to be copied.
func (t *table) differs(from, to naming) string {
	return "(" + joined(t.columns, " OR ", func(c *column) string { return pgsql.Quote(to(c)) + " IS DISTINCT FROM " + pgsql.Quote(from(c)) }) + ")"
}

// batch goes by the place of rows on disk: that needs no key, reads each page
// once, and rows that come later or move have met the trigger.
func (g *graph) batch(t *table) []string {
	where := "ctid >= $1::text::tid AND ctid < $2::text::tid AND " + t.differs(current, fresh)
	var sql []string
	if slices.ContainsFunc(t.triggers, (*pgcatalog.Trigger).OnUpdate) {
		sql = append(sql, "SET LOCAL session_replication_role = replica")
	}
	return append(sql, "WITH found AS (SELECT count(*) AS n FROM "+t.Target()+" WHERE "+where+"),\n"+
		"copied AS (UPDATE "+t.Target()+" SET "+joined(t.columns, ", ", func(c *column) string { return pgsql.Quote(fresh(c)) + " = " + pgsql.Quote(c.Name) })+"\n"+
		"  WHERE ctid = ANY (ARRAY(SELECT ctid FROM "+t.Target()+" WHERE "+where+" FOR NO KEY UPDATE SKIP LOCKED)) RETURNING 1)\n"+
		"SELECT (SELECT n FROM found), (SELECT count(*) FROM copied)")
}

func (g *graph) index() []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, t := range g.tables {
		for _, i := range t.indexes {
			steps = append(steps, buildStep(t, i, i.fresh(), fresh))
		}
	}
	return steps
}

func buildStep(t *table, i index, name string, columnName naming) engine.OnlineStep {
	return engine.OnlineStep{
		Table: t.Name, Text: "create index " + name, Kind: engine.Long,
		SQL:   i.build(t, name, columnName),
		Locks: "SHARE UPDATE EXCLUSIVE: other changes of the table wait, reads and writes do not; it waits for transactions that are older than itself",
		Rows:  t.rows, Bytes: t.heap, Disk: t.rows * indexBytes, Log: t.rows * indexBytes, Estimate: perRow(t.rows, indexRate),
	}
}

func (g *graph) constrain() []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, t := range g.tables {
		steps = append(steps, t.compare(current, fresh))
		steps = append(steps, t.hold(current, fresh)...)
		if set := t.setNotNull(fresh); set != "" {
			steps = append(steps, short(t, "NOT NULL, which the CHECK has proved", set))
		}
	}
	for _, k := range g.keys {
		steps = append(steps, k.steps(k.fresh(), fresh)...)
	}
	return steps
}

func (g *graph) constrainBack() []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, k := range g.keys {
		steps = append(steps, k.step("drop foreign key "+k.fresh(), "ACCESS EXCLUSIVE", exclusive,
			"ALTER TABLE "+k.child.Target()+" DROP CONSTRAINT IF EXISTS "+pgsql.Quote(k.fresh())))
	}
	return steps
}

// compare counts the rows that differ.
func (t *table) compare(from, to naming) engine.OnlineStep {
	return engine.OnlineStep{
		Table: t.Name, Text: "count the rows that differ", Kind: engine.Verify,
		SQL:   []string{"SELECT count(*) FROM " + t.Target() + " WHERE " + t.differs(from, to)},
		Locks: "none that keeps anybody out", Rows: t.rows, Bytes: t.heap, Estimate: perRow(t.rows, scanRate),
	}
}

// hold makes sure, until the columns are swapped, that both stay equal under every
// write.
func (t *table) hold(from, to naming) []engine.OnlineStep {
	check := joined(t.columns, " AND ", func(c *column) string {
		if !c.NotNull {
			return pgsql.Quote(to(c)) + " IS NOT DISTINCT FROM " + pgsql.Quote(from(c))
		}
		return pgsql.Quote(to(c)) + " IS NOT NULL AND " + pgsql.Quote(from(c)) + " IS NOT NULL AND " + pgsql.Quote(to(c)) + " = " + pgsql.Quote(from(c))
	})
	validate := t.validate(sameCheck)
	validate.Text = "compare the rows that were there before the CHECK"
	return []engine.OnlineStep{
		short(t, "add a CHECK that both are equal",
			"ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+sameCheck+" CHECK ("+check+") NOT VALID"),
		validate,
	}
}

func (t *table) validate(constraint string) engine.OnlineStep {
	return engine.OnlineStep{
		Table: t.Name, Kind: engine.Long,
		SQL:   []string{"ALTER TABLE " + t.Target() + " VALIDATE CONSTRAINT " + pgsql.Quote(constraint)},
		Locks: "SHARE UPDATE EXCLUSIVE: other changes of the table wait, reads and writes do not",
		Rows:  t.rows, Bytes: t.heap, Estimate: perRow(t.rows, scanRate),
	}
}

func (t *table) setNotNull(name naming) string {
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return !c.NotNull })
	if len(columns) == 0 {
		return ""
	}
	return "ALTER TABLE " + t.Target() + " " + joined(columns, ", ", func(c *column) string { return "ALTER COLUMN " + pgsql.Quote(name(c)) + " SET NOT NULL" })
}

// add makes the same foreign key between other columns, without looking at rows.
func (k *foreignKey) add(name string, columnName naming) string {
	set := ""
	if len(k.Set) > 0 {
		set = " (" + k.child.list(k.Set, columnName) + ")"
	}
	return "ALTER TABLE " + k.child.Target() + " ADD CONSTRAINT " + pgsql.Quote(name) +
		" FOREIGN KEY (" + k.child.list(k.Columns, columnName) + ") REFERENCES " + k.parent.Target() + " (" + k.parent.list(k.Refers, columnName) + ")" +
		k.OnUpdate + k.OnDelete + set + k.Deferral + " NOT VALID"
}

// steps add a foreign key, and check the rows that are there.
func (k *foreignKey) steps(name string, columnName naming) []engine.OnlineStep {
	add := k.step("add foreign key "+name, "SHARE ROW EXCLUSIVE", "SHARE ROW EXCLUSIVE on %s for a moment: writes wait, reads do not",
		k.add(name, columnName))
	if !k.Valid {
		return []engine.OnlineStep{add}
	}
	validate := k.child.validate(name)
	validate.Text = "check the rows that were there before foreign key " + name
	validate.Locks = "SHARE UPDATE EXCLUSIVE on " + k.child.Name + ", ROW SHARE on " + k.parent.Name + ": reads and writes do not wait"
	validate.Estimate = perRow(k.child.rows, foreignKeyRate)
	return []engine.OnlineStep{add, validate}
}

func (k *foreignKey) both() []*table {
	if k.parent == k.child {
		return []*table{k.child}
	}
	return []*table{k.parent, k.child}
}

func (k *foreignKey) step(text, mode, locks string, sql ...string) engine.OnlineStep {
	return engine.OnlineStep{
		Table: k.child.Name, Text: text, Kind: engine.Short, SQL: append(locked(mode, k.both()...), sql...),
		Locks: fmt.Sprintf(locks, joined(k.both(), " and ", func(t *table) string { return t.Name })),
	}
}

func (g *graph) finish() []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, t := range slices.Backward(g.tables) {
		steps = append(steps, short(t, "drop the trigger and "+joined(t.columns, ", ", old)+"; there is no way back",
			append(t.dropSync(), t.dropColumns(old))...))
	}
	return steps
}
