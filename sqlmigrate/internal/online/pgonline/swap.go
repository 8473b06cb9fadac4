package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// function returns the name of the trigger's function.
func (t *table) function() string {
	return pgsql.Qualified(t.Schema, temporaryName(functionPrefix, t.Name, t.OID))
}

// createFunction returns the statement that creates the trigger's function with this
// body.
func (t *table) createFunction(body string) string {
	return "CREATE OR REPLACE FUNCTION " + t.function() + "() RETURNS trigger LANGUAGE plpgsql AS $gormflake$\nBEGIN\n" + body + "  RETURN NEW;\nEND\n$gormflake$"
}

// forwardFunction returns the statement that creates the function for the time before the
// swap. It copies the old columns to the new columns.
func (t *table) forwardFunction() string {
	return t.createFunction(formatColumns(t.columns, "", "  NEW.%s := NEW.%s;\n", fresh, current))
}

// reverseFunction returns the statement that creates the function for the time after the
// swap. It copies the new columns to the old columns, as NULL if the key does not fit. An
// INSERT that does not list its columns writes the key to the old column, because that
// has kept its position; the function then moves the key to the new column.
func (t *table) reverseFunction() string {
	return t.createFunction("  IF TG_OP = 'INSERT' THEN\n" +
		formatColumns(t.columns, "", "    NEW.%[1]s := coalesce(NEW.%[2]s, NEW.%[1]s);\n", current, old) + "  END IF;\n" +
		pgsql.Join(t.columns, "", func(c *column) string {
			low, high := c.Bounds()
			return fmt.Sprintf("  NEW.%[2]s := CASE WHEN NEW.%[1]s BETWEEN %[3]s AND %[4]s THEN NEW.%[1]s END;\n", pgsql.Quote(c.Name), pgsql.Quote(old(c)), low, high)
		}))
}

// dropCachedPlans returns statements that alter the functions of the table's triggers and
// restore them. That makes sessions drop their cached plans, which contain the old type
// of the keys. It changes COST, because that does not change what the function does.
func (t *table) dropCachedPlans() []string {
	var sql []string
	for _, trigger := range gather(t, triggersOf) {
		restore := "ALTER FUNCTION " + trigger.Function + " COST " + trigger.Cost
		if trigger.Language == "plpgsql" && !slices.Contains(sql, restore) { // several triggers may have the same function
			sql = append(sql, restore+"1", restore) // the digit 1 after the cost makes another cost
		}
	}
	return sql
}

// swap returns the step that swaps the columns. It first checks that nothing has changed
// since the plan was made, with the empty search path under which the plan has read the
// names of objects. At the end it stores the state for the way back.
func (g *graph) swap() plan.OnlineStep {
	before := []string{emptyPath}
	for _, t := range g.families() {
		before = append(before, t.checkTable())
	}
	before = append(before, g.checkUnchanged(pgsql.Literal(g.state))...)
	step := g.exchange("swap the columns of %s", before, (*table).swap, (*foreignKey).fresh)
	step.SQL = append(step.SQL, g.storeState()...)
	return step
}

// exchange returns the step that exchanges the names of columns in one transaction, in
// either direction. It locks the views first, because a program that reads a view also
// locks the view before its tables. text has a %s for the tables. before are statements
// that check whether the exchange is still possible. change returns the statements for a
// table. built returns the name under which a foreign key has been prepared.
func (g *graph) exchange(text string, before []string, change func(*table) []string, built func(*foreignKey) string) plan.OnlineStep {
	all := g.all()
	drops, creates := g.recreate()
	partitionCheck, _ := g.checkPartitions()
	sql := slices.Concat(pgview.Lock(g.views), lockTables("ACCESS EXCLUSIVE", all...), partitionCheck, before, drops)
	for _, k := range g.keys {
		// The keys of partitions are dropped one by one, because a partitioned table does
		// not have the key itself while validateLate runs. If it has the key, the first
		// statement also drops those of the partitions, hence IF EXISTS. A key of a table
		// without partitions is its only part, which Compact leaves out.
		for _, k := range slices.Compact(append([]*foreignKey{k}, k.parts...)) {
			sql = append(sql, "ALTER TABLE "+k.child.Target()+" DROP CONSTRAINT "+pgsql.If(k.child.isPartitioned() || k.Whole != 0, "IF EXISTS ")+pgsql.Quote(k.Name))
		}
	}
	for _, t := range g.tables {
		sql = append(sql, change(t)...)
	}
	for _, k := range g.keys {
		sql = append(sql, k.placeConstraint(built)...)
	}
	sql = append(sql, creates...)
	return plan.OnlineStep{
		Text: fmt.Sprintf(text, pgsql.Join(g.tables, ", ", nameOf)), Kind: plan.Short, SQL: sql,
		Locks: fmt.Sprintf(exclusive, pgsql.Join(all, ", ", nameOf)),
	}
}

// swap returns the statements that give the names, constraints and indexes of the old
// columns to the new columns.
func (t *table) swap() []string {
	sql := append([]string{t.dropConstraint(sameCheck)}, t.replaceChecks((*check).fresh)...)
	for _, i := range gather(t, indexesOf) {
		sql = append(sql, i.table.freeIndexName(i)...)
	}
	sql = append(sql, t.replaceColumns(fresh, old)...)
	for _, i := range gather(t, indexesOf) {
		sql = append(append(sql, i.table.placeIndex(i, i.fresh())...), i.table.markIndex(i)...)
	}
	return append(append(sql, t.reverseFunction()), t.dropCachedPlans()...)
}

// replaceChecks returns statements that drop the CHECKs of the columns that have the
// names now, and give the names of these CHECKs to the CHECKs that were built for the
// other columns. built returns the present name of such a CHECK.
func (t *table) replaceChecks(built func(*check) string) []string {
	var sql []string
	for _, c := range gather(t, checksOf) {
		sql = append(sql, c.table.dropConstraint(c.Name), c.table.renameConstraint(built(&c), c.Name))
		sql = append(sql, pgsql.Comment("CONSTRAINT "+pgsql.Quote(c.Name)+" ON "+c.table.Target(), c.Comment)...)
	}
	return sql
}

// markIndex returns statements that make i the index for CLUSTER and the replica
// identity, if the plan found these properties at the index of this name.
func (t *table) markIndex(i index) []string {
	var sql []string
	if i.Clustered {
		sql = append(sql, "ALTER TABLE "+t.Target()+" CLUSTER ON "+pgsql.Quote(i.Name))
	}
	if i.Identity {
		sql = append(sql, "ALTER TABLE "+t.Target()+" REPLICA IDENTITY USING INDEX "+pgsql.Quote(i.Name))
	}
	return sql
}

// freeIndexName returns statements that free the name of an index. A primary key is
// dropped, because a table can have only one.
func (t *table) freeIndexName(i index) []string {
	var sql []string
	if i.Identity && !i.Primary() { // otherwise its columns would stay NOT NULL; markIndex sets the replica identity again
		sql = append(sql, "ALTER TABLE "+t.Target()+" REPLICA IDENTITY FULL")
	}
	switch {
	case i.Primary() && i.Parent != 0: // it is dropped with the parent's index
		return nil
	case i.Primary():
		return []string{t.dropConstraint(i.Constraint)}
	case i.Constraint != "":
		return append(sql, t.renameConstraint(i.Constraint, i.old()))
	case t.isPartitioned(): // create its successor here, because freshDefinitions has the names that the columns have before replaceColumns
		return append(sql, t.renameIndex(i.Name, i.old()), i.create("", t, i.Name, t.freshDefinitions))
	default:
		return append(sql, t.renameIndex(i.Name, i.old()))
	}
}

// placeIndex returns statements that give a built index the name that freeIndexName has
// freed, and recreate its constraint and comments. built is the present name of the
// index. For a partitioned table, they create the constraint, and attach the indexes of
// the partitions, which have their final names already.
func (t *table) placeIndex(i index, built string) []string {
	var sql []string
	kind := "UNIQUE"
	if i.Primary() {
		kind = "PRIMARY KEY"
	}
	switch {
	case t.isPartitioned():
		sql = t.placePartedIndex(i)
	case i.Constraint == "":
		sql = append(sql, t.renameIndex(built, i.Name))
	default:
		sql = append(sql, "ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+pgsql.Quote(i.Constraint)+" "+kind+" USING INDEX "+pgsql.Quote(built)+i.Deferral)
	}
	sql = append(sql, pgsql.Comment("INDEX "+pgsql.Qualified(t.Schema, i.Name), i.Comment)...)
	return append(sql, pgsql.Comment("CONSTRAINT "+pgsql.Quote(i.Constraint)+" ON "+t.Target(), i.ConstraintComment)...)
}

// replaceColumns returns statements that rename the columns. with returns the names of
// the columns that take the names of c, and aside the new names of the columns that had
// them.
func (t *table) replaceColumns(with, aside naming) []string {
	var sql []string
	for _, c := range t.columns {
		sql = append(sql, t.moveDefault(c, c.Name, with(c))...)
		sql = append(sql, t.rename(c.Name, aside(c)), t.rename(with(c), c.Name))
		sql = append(sql, t.takeOverSequences(c)...)
	}
	return sql
}

// moveDefault returns statements that move the identity or the default of one column to
// another. They also drop NOT NULL of the first column, because the trigger writes NULL
// to the old column if a key does not fit.
func (t *table) moveDefault(c *column, from, to string) []string {
	var sql []string
	alter := "ALTER TABLE " + t.Target() + " ALTER COLUMN " + pgsql.Quote(from)
	for _, s := range c.sequences {
		if s.Internal {
			sql = append(sql, moveIdentity(s, t.Target(), from, to, c.Always))
		}
	}
	if c.value != "" {
		sql = append(sql, alter+" DROP DEFAULT", "ALTER TABLE "+t.Target()+" ALTER COLUMN "+pgsql.Quote(to)+" SET DEFAULT "+c.value)
	}
	if c.NotNull {
		sql = append(sql, alter+" DROP NOT NULL")
	}
	return sql
}

// takeOverSequences returns statements that make the column that now has the name of c
// the owner of the sequences of c. Otherwise, the sequences would be dropped with the old
// column.
func (t *table) takeOverSequences(c *column) []string {
	var sql []string
	for _, s := range c.sequences {
		if s.Owner == c.Node && !s.Internal {
			sql = append(sql, "ALTER SEQUENCE "+s.Target()+" OWNED BY "+t.Target()+"."+pgsql.Quote(c.Name))
		}
	}
	return sql
}

// moveIdentity returns a statement that moves an identity to another column, at its
// present value. It drops the old identity first, which frees the name of the sequence.
// always is true for GENERATED ALWAYS.
func moveIdentity(s *pgcatalog.Sequence, table, from, to string, always bool) string {
	return doBlock("reached bigint; called boolean;", fmt.Sprintf(
		"  SELECT last_value, is_called INTO reached, called FROM %[1]s;\n"+
			"  ALTER TABLE %[2]s ALTER COLUMN %[3]s DROP IDENTITY;\n"+
			"  ALTER TABLE %[2]s ALTER COLUMN %[4]s %[5]s;\n"+
			"  PERFORM pg_catalog.setval(%[6]s, reached, called);\n",
		s.Target(), table, pgsql.Quote(from), pgsql.Quote(to), s.Identity(always), pgsql.Literal(s.Target())))
}

// checkTable returns a statement that fails if the table has changed since the plan was
// made. An object that uses the old columns, and that the plan does not know, would
// otherwise keep using the old columns after the swap. Any trigger that the plan does not
// know counts too. The CHECK and the trigger of the move itself do not count. The
// statement also fails if the trigger of the move is missing or not ENABLE ALWAYS
// (tgenabled 'A'), because then the columns may differ, or if an index is invalid.
func (t *table) checkTable() string {
	triggers := []string{triggerName}
	for _, trigger := range gather(t, triggersOf) {
		triggers = append(triggers, trigger.Name)
	}
	table := pgsql.Literal(t.Target()) + "::regclass"
	return doBlock("found text;", `  SELECT string_agg(DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), ', ') INTO found
    FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = `+table+`
      AND a.attname IN (`+t.nameLiterals()+`)
      AND pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) <> ALL (`+array(t.knownUsers)+`)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE d.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = d.objid AND c.conname = `+pgsql.Literal(sameCheck)+`);
  IF found IS NULL THEN
    SELECT string_agg('trigger ' || tgname, ', ') INTO found FROM pg_catalog.pg_trigger
      WHERE tgrelid = `+table+` AND NOT tgisinternal AND tgname <> ALL (`+array(triggers)+`);
  END IF;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = 'sqlmigrate: the plan does not know ' || found || ': drop it and create it again afterwards, or revert the move and begin again';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = `+table+` AND tgname = `+pgsql.Literal(triggerName)+` AND tgenabled = 'A') THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = `+pgsql.Literal("sqlmigrate: trigger "+triggerName+" of table "+t.Name+" is missing or disabled: revert the move and begin again")+`;
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_index WHERE indrelid = `+table+` AND NOT indisvalid) THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = `+pgsql.Literal("sqlmigrate: an index of table "+t.Name+" is invalid: drop it, or REINDEX INDEX CONCURRENTLY")+`;
  END IF;
`)
}

// swapBack returns the steps that take the swap back. The first steps only read, and fail
// if it is impossible, before anything is changed. Further steps build the constraints
// and indexes of the old columns again, which the swap has dropped or which the old
// columns do not have. If the swap has not happened, all steps up to the exchange are
// done (Unless).
func (g *graph) swapBack() []plan.OnlineStep {
	_, checks := g.checkPartitions()
	var steps []plan.OnlineStep
	for _, t := range g.tables {
		checks = append(checks, t.findLargeKeys())
		for _, i := range gather(t, indexesOf) {
			if i.Primary() && !i.table.isPartitioned() {
				steps = append(steps, i.table.buildIndex(i, i.back(), i.table.oldDefinitions))
			}
		}
		steps = append(steps, t.addSameCheck(current, old)...)
		for _, c := range gather(t, checksOf) {
			steps = append(steps, c.add(c.back(), c.table.oldDefinitions)...)
		}
	}
	for _, k := range g.earlyKeys {
		steps = append(steps, k.steps(k.back(), old)...)
	}
	steps = append(slices.Concat(checks, steps), g.exchange("swap the columns of %s back", g.checkUnchanged(g.storedState()), (*table).backSwap, (*foreignKey).back))
	for i := range steps {
		steps[i].Unless = g.notSwapped()
	}
	return append(steps, g.validateLate()...)
}

// notSwapped returns a query that is true before the swap, and after it has been taken
// back. Only between these does the table have a column with the name of the old column
// after the swap. One column is enough to tell, because one transaction swaps all.
func (g *graph) notSwapped() string {
	t := g.tables[0]
	return "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = " + pgsql.Literal(t.Target()) + "::regclass AND attname = " + pgsql.Literal(old(t.columns[0])) + " AND NOT attisdropped)"
}

// findLargeKeys returns the step that fails if a key does not fit into the old columns.
func (t *table) findLargeKeys() plan.OnlineStep {
	outside := pgsql.Join(t.columns, " OR ", func(c *column) string {
		low, high := c.Bounds()
		return fmt.Sprintf("%s NOT BETWEEN %s AND %s", pgsql.Quote(c.Name), low, high)
	})
	return t.readWhole(plan.Verify, scanRate, "find keys of table "+t.Name+" that the old columns do not hold", noLock,
		"SELECT count(*) FROM (SELECT FROM "+t.Target()+" WHERE "+outside+" LIMIT 1) AS outside")
}

// backSwap returns the statements that give the names, constraints and indexes back to
// the old columns, and make them NOT NULL again. The indexes of the new columns are
// dropped, because prepareBack drops these columns.
func (t *table) backSwap() []string {
	var sql []string
	for _, i := range gather(t, indexesOf) {
		switch {
		case i.Parent != 0: // it is dropped with the parent's index
		case i.Constraint != "":
			sql = append(sql, i.table.dropConstraint(i.Constraint))
		default:
			sql = append(sql, "DROP INDEX "+pgsql.Qualified(i.table.Schema, i.Name))
		}
	}
	sql = append(append(sql, t.replaceChecks((*check).back)...), t.setNotNull(old)...)
	sql = append(sql, t.replaceColumns(old, fresh)...)
	for _, i := range gather(t, indexesOf) {
		switch {
		case i.Primary():
			sql = append(sql, i.table.placeIndex(i, i.back())...)
		case i.Constraint != "":
			sql = append(sql, i.table.renameConstraint(i.old(), i.Constraint))
		default:
			sql = append(sql, i.table.renameIndex(i.old(), i.Name))
		}
		sql = append(sql, i.table.markIndex(i)...)
	}
	sql = append(sql, t.dropConstraint(sameCheck), t.forwardFunction())
	return append(sql, t.dropCachedPlans()...)
}
