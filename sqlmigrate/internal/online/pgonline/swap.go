package pgonline

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// function is the one of the trigger.
func (t *table) function() string {
	return pgsql.Qualified(t.schema, temporary(functionFor, t.name, t.oid))
}

// sync makes the trigger's function.
func (t *table) sync(body string) string {
	return "CREATE OR REPLACE FUNCTION " + t.function() + "() RETURNS trigger LANGUAGE plpgsql AS $gormflake$\nBEGIN\n" + body + "  RETURN NEW;\nEND\n$gormflake$"
}

// forward is until the swap.
func (t *table) forward() string {
	return t.sync(joined(t.columns, "", func(c *column) string {
		return "  NEW." + pgsql.Quote(c.fresh()) + " := NEW." + pgsql.Quote(c.name) + ";\n"
	}))
}

// reverse is after the swap. An INSERT without a list of columns writes a key to
// the place that it had.
func (t *table) reverse() string {
	return t.sync("  IF TG_OP = 'INSERT' THEN\n" +
		joined(t.columns, "", func(c *column) string {
			return fmt.Sprintf("    NEW.%[1]s := coalesce(NEW.%[2]s, NEW.%[1]s);\n", pgsql.Quote(c.name), pgsql.Quote(c.old()))
		}) + "  END IF;\n" +
		joined(t.columns, "", func(c *column) string {
			low, high := c.bounds()
			return fmt.Sprintf("  NEW.%[2]s := CASE WHEN NEW.%[1]s BETWEEN %[3]s AND %[4]s THEN NEW.%[1]s END;\n", pgsql.Quote(c.name), pgsql.Quote(c.old()), low, high)
		}))
}

// touch makes sessions forget what they know of the functions of a table's
// triggers: the type of the keys as it was.
func (t *table) touch() []string {
	var sql []string
	seen := map[string]bool{}
	for _, g := range t.triggers {
		if g.language != "plpgsql" || seen[g.function] {
			continue
		}
		seen[g.function] = true
		sql = append(sql, "ALTER FUNCTION "+g.function+" COST "+g.cost+"1", "ALTER FUNCTION "+g.function+" COST "+g.cost)
	}
	return sql
}

// swap is one transaction.
func (p *inspection) swap() engine.OnlineStep {
	all := p.everyTable()
	sql := append(locked("ACCESS EXCLUSIVE", all...), "SET LOCAL search_path = ''") // objects are described with their schemas
	for _, t := range p.tables {
		sql = append(sql, t.guard())
	}
	for _, k := range p.keys {
		sql = append(sql, k.child.drop(k.name))
	}
	for _, t := range p.tables {
		sql = append(sql, t.swap()...)
	}
	for _, k := range p.keys {
		sql = append(sql, k.child.renameConstraint(k.fresh(), k.name))
		sql = append(sql, k.commented()...)
	}
	return engine.OnlineStep{
		Text: "swap the columns of " + joined(p.tables, ", ", func(t *table) string { return t.name }), Kind: engine.Short, SQL: sql,
		Locks: fmt.Sprintf(exclusive, joined(all, ", ", func(t *table) string { return t.name })),
	}
}

func (t *table) swap() []string {
	sql := []string{t.drop(sameCheck)}
	for _, i := range t.indexes {
		sql = append(sql, t.putAside(i)...)
	}
	for _, c := range t.columns {
		sql = append(sql, t.hand(c, c.name, c.fresh())...)
		sql = append(sql, t.rename(c.name, c.old()), t.rename(c.fresh(), c.name))
		sql = append(sql, t.own(c)...)
	}
	for _, i := range t.indexes {
		sql = append(sql, t.put(i, i.fresh())...)
	}
	return append(append(sql, t.reverse()), t.touch()...)
}

// putAside makes the name of an index free. A table has one primary key.
func (t *table) putAside(i *index) []string {
	switch {
	case i.primary():
		return []string{t.drop(i.constraint)}
	case i.constraint != "":
		return []string{t.renameConstraint(i.constraint, i.old())}
	default:
		return []string{t.renameIndex(i.name, i.old())}
	}
}

// put gives an index that has been built the name that is free now, and the
// constraint.
func (t *table) put(i *index, built string) []string {
	var sql []string
	kind := "UNIQUE"
	if i.primary() {
		kind = "PRIMARY KEY"
	}
	if i.constraint == "" {
		sql = append(sql, t.renameIndex(built, i.name))
	} else {
		sql = append(sql, "ALTER TABLE "+t.target()+" ADD CONSTRAINT "+pgsql.Quote(i.constraint)+" "+kind+" USING INDEX "+pgsql.Quote(built)+i.deferrable)
	}
	if i.comment.Valid {
		sql = append(sql, "COMMENT ON INDEX "+pgsql.Qualified(t.schema, i.name)+" IS "+pgsql.Literal(i.comment.String))
	}
	if i.constraintComment.Valid {
		sql = append(sql, "COMMENT ON CONSTRAINT "+pgsql.Quote(i.constraint)+" ON "+t.target()+" IS "+pgsql.Literal(i.constraintComment.String))
	}
	return sql
}

// hand gives what one column has to another: what a row gets that has no
// value for it.
func (t *table) hand(c *column, from, to string) []string {
	var sql []string
	alter := "ALTER TABLE " + t.target() + " ALTER COLUMN " + pgsql.Quote(from)
	for _, s := range c.sequences {
		if s.internal {
			sql = append(sql, s.moveIdentity(t.target(), from, to, c.identity))
		}
	}
	if c.value != "" {
		sql = append(sql, alter+" DROP DEFAULT", "ALTER TABLE "+t.target()+" ALTER COLUMN "+pgsql.Quote(to)+" SET DEFAULT "+c.value)
	}
	if c.notNull {
		sql = append(sql, alter+" DROP NOT NULL")
	}
	return sql
}

// own makes the column with the name the owner of its sequence.
func (t *table) own(c *column) []string {
	var sql []string
	for _, s := range c.sequences {
		if s.owned && !s.internal {
			sql = append(sql, "ALTER SEQUENCE "+s.target()+" OWNED BY "+t.target()+"."+pgsql.Quote(c.name))
		}
	}
	return sql
}

// commented repeats a foreign key's comment.
func (k *foreignKey) commented() []string {
	if !k.comment.Valid {
		return nil
	}
	return []string{"COMMENT ON CONSTRAINT " + pgsql.Quote(k.name) + " ON " + k.child.target() + " IS " + pgsql.Literal(k.comment.String)}
}

func (t *table) drop(constraint string) string {
	return "ALTER TABLE " + t.target() + " DROP CONSTRAINT " + pgsql.Quote(constraint)
}

func (t *table) rename(from, to string) string {
	return "ALTER TABLE " + t.target() + " RENAME COLUMN " + pgsql.Quote(from) + " TO " + pgsql.Quote(to)
}

func (t *table) renameConstraint(from, to string) string {
	return "ALTER TABLE " + t.target() + " RENAME CONSTRAINT " + pgsql.Quote(from) + " TO " + pgsql.Quote(to)
}

func (t *table) renameIndex(from, to string) string {
	return "ALTER INDEX " + pgsql.Qualified(t.schema, from) + " RENAME TO " + pgsql.Quote(to)
}

// guard ends the swap if the table is not as it was when the plan was made: what
// has come to use the old columns would stay on them in silence.
func (t *table) guard() string {
	triggers := []string{triggerName}
	for _, g := range t.triggers {
		triggers = append(triggers, g.name)
	}
	table := pgsql.Literal(t.target()) + "::regclass"
	return block("found text;", `  SELECT string_agg(DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), ', ') INTO found
    FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = `+table+`
      AND a.attname IN (`+joined(t.columns, ", ", func(c *column) string { return pgsql.Literal(c.name) })+`)
      AND pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) <> ALL (`+array(t.known)+`)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE d.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = d.objid AND c.conname = `+pgsql.Literal(sameCheck)+`);
  IF found IS NULL THEN
    SELECT string_agg('trigger ' || tgname, ', ') INTO found FROM pg_catalog.pg_trigger
      WHERE tgrelid = `+table+` AND NOT tgisinternal AND tgname <> ALL (`+array(triggers)+`);
  END IF;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = 'sqlmigrate: the plan does not know ' || found || ': drop it and create it again afterwards, or revert the move and begin again';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = `+table+` AND tgname = `+pgsql.Literal(triggerName)+` AND tgenabled = 'A') THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = `+pgsql.Literal("sqlmigrate: trigger "+triggerName+" of table "+t.name+" is missing or disabled: revert the move and begin again")+`;
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_index WHERE indrelid = `+table+` AND NOT indisvalid) THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = `+pgsql.Literal("sqlmigrate: an index of table "+t.name+" is invalid: drop it, or REINDEX INDEX CONCURRENTLY")+`;
  END IF;
`)
}

func array(texts []string) string {
	return "ARRAY[" + joined(texts, ", ", pgsql.Literal) + "]::text[]"
}
