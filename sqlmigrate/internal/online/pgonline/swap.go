package pgonline

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// functionName returns the quoted name, with its schema, of the function that the trigger of
// the move calls. It is, for example, gormflake_sync_orders.
func (t *table) functionName() string {
	return pgsql.Qualified(t.Schema, temporaryName(functionPrefix, t.Name, t.OID))
}

// createFunction returns the statement that creates the trigger's function or, if it exists,
// replaces its body. body has the PL/pgSQL statements before RETURN NEW.
func (t *table) createFunction(body string) string {
	return "CREATE OR REPLACE FUNCTION " + t.functionName() + "() RETURNS trigger LANGUAGE plpgsql AS $gormflake$\nBEGIN\n" + body + "  RETURN NEW;\nEND\n$gormflake$"
}

// forwardFunction returns the statement that creates the trigger's function for the time
// before the swap. The function copies the old columns to the new columns.
func (t *table) forwardFunction() string {
	return t.createFunction(formatColumns(t.columns, "", "  NEW.%s := NEW.%s;\n", fresh, current))
}

// reverseFunction returns the statement that creates the trigger's function for the time
// after the swap. The function copies the new columns to the old columns. An old column
// gets NULL if the key does not fit into its type.
//
// The function begins with a special case. An INSERT that does not list its columns still
// writes the key to the old column, because the old column has kept its position in the
// table. So if an INSERT gives the old column a value, the function first copies this value
// to the new column.
func (t *table) reverseFunction() string {
	return t.createFunction("  IF TG_OP = 'INSERT' THEN\n" +
		formatColumns(t.columns, "", "    NEW.%[1]s := coalesce(NEW.%[2]s, NEW.%[1]s);\n", current, old) + "  END IF;\n" +
		pgsql.Join(t.columns, "", func(c *column) string {
			low, high := c.Bounds()
			return fmt.Sprintf("  NEW.%[2]s := CASE WHEN NEW.%[1]s BETWEEN %[3]s AND %[4]s THEN NEW.%[1]s END;\n", pgsql.Quote(c.Name), pgsql.Quote(old(c)), low, high)
		}))
}

// dropCachedPlans returns statements that make sessions drop the cached plans of the
// PL/pgSQL functions of the table's triggers, because these plans contain the old type of
// the keys. After an ALTER FUNCTION, sessions drop their cached plans of the function, even
// if the statement has changed nothing. Therefore the statements set the COST of each
// function to its present value.
func (t *table) dropCachedPlans() []string {
	var sql []string
	for _, trigger := range gather(t, triggersOf) {
		alter := "ALTER FUNCTION " + trigger.Function + " COST " + trigger.Cost
		if trigger.Language == "plpgsql" && !slices.Contains(sql, alter) { // several triggers may have the same function
			sql = append(sql, alter)
		}
	}
	return sql
}

// swap returns the step that swaps the names of the old and the new columns. The step first
// checks that the tables have not changed since the plan was made (checkTable). Then the
// step checks that the objects that it drops and creates again, such as views, have not
// changed either (checkUnchanged). Both checks compare names and definitions with those in
// the plan, which were read under an empty search path. Therefore the step first sets an
// empty search path for its transaction (emptyPath). At the end, the step stores a hash of
// the created objects for the way back.
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

// exchange returns the step that exchanges the names of the old and the new columns of all
// tables in one transaction, for the swap and for its way back. In this order, the step
// locks the views and the tables, checks the partitions, runs the statements checks, drops
// the objects that refer to columns by number, drops the foreign keys, exchanges the
// columns, and creates the foreign keys and the objects again. It locks the views first,
// because a program that reads a view also locks the view before its tables.
//
// text describes the step, and has a %s for the tables. checks are statements that fail if
// the exchange is not possible. change returns the statements that exchange the columns of
// a table. builtName returns the name under which an earlier step has added a foreign key.
func (g *graph) exchange(text string, checks []string, change func(*table) []string, builtName func(*foreignKey) string) plan.OnlineStep {
	all := g.all()
	drops, creates := g.recreate()
	partitionCheck, _ := g.checkPartitions()
	sql := slices.Concat(pgview.Lock(g.views), lockTables("ACCESS EXCLUSIVE", all...), partitionCheck, checks, drops)
	for _, k := range g.keys {
		// If the child is partitioned, drop the foreign key of the table and the foreign
		// keys of its partitions. Each of them may be missing, hence IF EXISTS. The foreign
		// key of the table is missing until validateLate has added it. If the foreign key
		// of the table exists, the statement that drops it also drops the foreign keys of
		// the partitions. If the child is not partitioned, k is its own only part, and
		// Compact leaves out the repetition.
		for _, part := range slices.Compact(append([]*foreignKey{k}, k.parts...)) {
			sql = append(sql, "ALTER TABLE "+part.child.Target()+" DROP CONSTRAINT "+pgsql.If(part.child.isPartitioned() || part.Whole != 0, "IF EXISTS ")+pgsql.Quote(part.Name))
		}
	}
	for _, t := range g.tables {
		sql = append(sql, change(t)...)
	}
	for _, k := range g.keys {
		sql = append(sql, k.placeConstraint(builtName)...)
	}
	sql = append(sql, creates...)
	return plan.OnlineStep{
		Text: fmt.Sprintf(text, pgsql.Join(g.tables, ", ", nameOf)), Kind: plan.Short, SQL: sql,
		Locks: fmt.Sprintf(exclusive, pgsql.Join(all, ", ", nameOf)),
	}
}

// swap returns the statements that swap the columns of a table. The new columns get the
// names of the old columns. The constraints and indexes that earlier stages have built for
// the new columns get the names that the constraints and indexes of the old columns had.
// The statements also replace the function of the trigger, which from then on copies the
// new columns to the old columns.
func (t *table) swap() []string {
	// From now on the columns may differ, because a new key may not fit into the old column.
	// So first drop the CHECK that they are equal.
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

// replaceChecks returns statements that replace each CHECK of the columns that programs use
// by the CHECK that an earlier step has added for the other columns. They drop the replaced
// CHECK, and give its name and comment to the added CHECK. builtName returns the present name
// of the added CHECK.
func (t *table) replaceChecks(builtName func(*check) string) []string {
	var sql []string
	for _, c := range gather(t, checksOf) {
		sql = append(sql, c.table.dropConstraint(c.Name), c.table.renameConstraint(builtName(&c), c.Name))
		sql = append(sql, pgsql.Comment("CONSTRAINT "+pgsql.Quote(c.Name)+" ON "+c.table.Target(), c.Comment)...)
	}
	return sql
}

// markIndex returns statements that make the index with the name of i the index for CLUSTER
// and the replica identity, if the original index had these properties. They are necessary
// because another index has taken the name.
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

// freeIndexName returns statements by which the swap frees the name of an index of the old
// columns. They rename the index or its constraint. A primary key is dropped instead,
// because a table can have only one.
func (t *table) freeIndexName(i index) []string {
	var sql []string
	// The server refuses DROP NOT NULL, which moveDefault returns, for the columns of a replica
	// identity. So end the identity first. markIndex sets it again, on the new index.
	if i.Identity && !i.Primary() {
		sql = append(sql, "ALTER TABLE "+t.Target()+" REPLICA IDENTITY FULL")
	}
	switch {
	case i.Primary() && i.Parent != 0: // it is dropped with the parent's index
		return nil
	case i.Primary():
		return []string{t.dropConstraint(i.Constraint)}
	case i.Constraint != "":
		return append(sql, t.renameConstraint(i.Constraint, i.old()))
	case t.isPartitioned():
		// Also create the index of the new columns, to which attachIndexes attaches the
		// indexes of the partitions. This has to be before replaceColumns renames the new
		// columns, because freshDefinitions has the names before that.
		return append(sql, t.renameIndex(i.Name, i.old()), i.create("", t, i.Name, t.freshDefinitions))
	default:
		return append(sql, t.renameIndex(i.Name, i.old()))
	}
}

// placeIndex returns statements that give the name of i to the index that an earlier step
// has built for the other columns, and create the constraint and the comments of i again.
// builtName is the present name of that index. For a partitioned table, they create the
// constraint, and attach the indexes of the partitions, which have their final names
// already.
func (t *table) placeIndex(i index, builtName string) []string {
	var sql []string
	kind := "UNIQUE"
	if i.Primary() {
		kind = "PRIMARY KEY"
	}
	switch {
	case t.isPartitioned():
		sql = t.attachIndexes(i)
	case i.Constraint == "":
		sql = append(sql, t.renameIndex(builtName, i.Name))
	default:
		sql = append(sql, "ALTER TABLE "+t.Target()+" ADD CONSTRAINT "+pgsql.Quote(i.Constraint)+" "+kind+" USING INDEX "+pgsql.Quote(builtName)+i.Deferral)
	}
	sql = append(sql, pgsql.Comment("INDEX "+pgsql.Qualified(t.Schema, i.Name), i.Comment)...)
	return append(sql, pgsql.Comment("CONSTRAINT "+pgsql.Quote(i.Constraint)+" ON "+t.Target(), i.ConstraintComment)...)
}

// replaceColumns returns statements that exchange the old and the new column of each column
// to widen. They rename the column that programs use to asideName. The other column, whose
// present name is otherName, gets the former name, the default and the sequences of that
// column. For example, the swap renames id to gormflake_old_id, and gormflake_new_id to id.
func (t *table) replaceColumns(otherName, asideName naming) []string {
	var sql []string
	for _, c := range t.columns {
		sql = append(sql, t.moveDefault(c, c.Name, otherName(c))...)
		sql = append(sql, t.rename(c.Name, asideName(c)), t.rename(otherName(c), c.Name))
		sql = append(sql, t.takeOverSequences(c)...)
	}
	return sql
}

// moveDefault returns statements that move an identity or a default from one column to
// another. The parameters from and to are the names of these columns, and c describes the
// identity or default. The statements also drop NOT NULL of the column from, because after
// the swap the trigger writes NULL to the old column if a key does not fit.
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

// takeOverSequences returns statements that make the column that now has the name of c the
// owner of the sequences that the old column owns. Otherwise, the sequences would be
// dropped with the old column. It leaves out the sequence of an identity, which moveDefault
// moves.
func (t *table) takeOverSequences(c *column) []string {
	var sql []string
	for _, s := range c.sequences {
		if s.Owner == c.Node && !s.Internal {
			sql = append(sql, "ALTER SEQUENCE "+s.Target()+" OWNED BY "+t.Target()+"."+pgsql.Quote(c.Name))
		}
	}
	return sql
}

// moveIdentity returns a statement that moves the identity with sequence s from a column to
// another, so that it continues at its present value. It drops the old identity first, which
// frees the name of the sequence for the new identity. always is true if the identity is
// GENERATED ALWAYS.
func moveIdentity(s *pgcatalog.Sequence, table, from, to string, always bool) string {
	return doBlock("reached bigint; called boolean;", fmt.Sprintf(
		"  SELECT last_value, is_called INTO reached, called FROM %[1]s;\n"+
			"  ALTER TABLE %[2]s ALTER COLUMN %[3]s DROP IDENTITY;\n"+
			"  ALTER TABLE %[2]s ALTER COLUMN %[4]s %[5]s;\n"+
			"  PERFORM pg_catalog.setval(%[6]s, reached, called);\n",
		s.Target(), table, pgsql.Quote(from), pgsql.Quote(to), s.Identity(always), pgsql.Literal(s.Target())))
}

// checkTable returns a statement that fails if the table has changed since the plan was
// made. It searches pg_depend for objects that use the old columns and that the plan does
// not know, because these would keep using the old columns after the swap. It also searches
// for triggers that the plan does not know. The CHECK and the trigger of the move itself do
// not count. The statement also fails if the trigger of the move is missing or not ENABLE
// ALWAYS (tgenabled 'A'), because then the columns may differ, or if an index is invalid.
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
// if the way back is impossible. The next steps build primary keys, CHECKs and foreign keys
// of the old columns, because the swap has dropped the original ones. Then a step exchanges
// the columns, and the last steps validate foreign keys. If the swap has not happened, or
// has been taken back, the steps up to the exchange count as done (Unless).
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
// back. In between, the table has a column with a name such as gormflake_old_id. The query
// tests only one column of the move, because one transaction swaps all.
func (g *graph) notSwapped() string {
	t := g.tables[0]
	return "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = " + pgsql.Literal(t.Target()) + "::regclass AND attname = " + pgsql.Literal(old(t.columns[0])) + " AND NOT attisdropped)"
}

// findLargeKeys returns the step that fails if the table has a key that does not fit into
// its old column, because the swap cannot be taken back then. It runs after the swap, so
// that the names of the columns are those of the new columns.
func (t *table) findLargeKeys() plan.OnlineStep {
	outside := pgsql.Join(t.columns, " OR ", func(c *column) string {
		low, high := c.Bounds()
		return fmt.Sprintf("%s NOT BETWEEN %s AND %s", pgsql.Quote(c.Name), low, high)
	})
	return t.readWhole(plan.Verify, scanRate, "find keys of table "+t.Name+" that the old columns do not hold", noLock,
		"SELECT count(*) FROM (SELECT FROM "+t.Target()+" WHERE "+outside+" LIMIT 1) AS outside")
}

// backSwap returns the statements for a table that take its swap back. They give the names,
// constraints and indexes back to the old columns, and make these NOT NULL again. They drop
// the indexes of the new columns, because later steps of the way back drop these columns.
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
