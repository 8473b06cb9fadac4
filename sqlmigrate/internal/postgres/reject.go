package postgres

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// checkAll returns a statement that checks whether a step can be taken back, and fails if
// not. rejections are parts of its body, each of which raises an error for one reason, as
// rejectIf returns them. The statement turns row security off, so that it fails if a policy
// would hide rows from it.
func checkAll(rejections []string) string {
	return pgsql.Do("", "  PERFORM pg_catalog.set_config('row_security', 'off', true);\n"+strings.Join(rejections, ""))
}

// rejectIf returns a rejection, which is a part of the body of a DO statement. It raises
// an error with the message if query returns a row.
func rejectIf(query, message string) string {
	return "  IF EXISTS (" + query + ") THEN\n" +
		"    RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = " + pgsql.Literal(message) + ";\n" +
		"  END IF;\n"
}

// rejectAll returns a rejection, which is a part of the body of a DO statement. It raises
// an error that lists the objects that query returns. message has a %s for the objects.
func rejectAll(query, message string) string {
	return "  IF EXISTS (" + query + ") THEN\n" +
		"    RAISE EXCEPTION USING ERRCODE = 'dependent_objects_still_exist', MESSAGE = pg_catalog.format(" + pgsql.Literal(message) + ",\n" +
		"      (SELECT string_agg(DISTINCT found.object, ', ') FROM (" + query + ") AS found (object)));\n" +
		"  END IF;\n"
}

// rejectNewReferences returns a statement for the end of phase widen. It fails if a narrow
// column refers to a widened key. By then the phase has widened all columns that the plan
// knows, so the foreign key (contype 'f') of this column was added since the plan was made,
// or exists in this database only. Such a column would accept old keys and fail at the first
// Snowflake ID. The failure rolls the transaction of the statement back.
func rejectNewReferences(tables []*table) []plan.Statement {
	var rejections []string
	for _, t := range tables {
		for _, c := range t.narrowColumns() {
			if !c.Key { // only references to primary keys are checked
				continue
			}
			rejections = append(rejections, rejectIf(fmt.Sprintf(`SELECT FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
    JOIN pg_catalog.pg_attribute r ON r.attnum = k.a
    JOIN pg_catalog.pg_attribute t ON t.attnum = k.b
    WHERE c.contype = 'f' AND r.attrelid = c.conrelid AND t.attrelid = c.confrelid
    AND c.confrelid = %s::regclass AND t.attname = %s AND r.atttypid IN ('int2'::regtype, 'int4'::regtype)`,
				pgsql.Literal(t.Target()), pgsql.Literal(c.Name)),
				fmt.Sprintf("sqlmigrate: a foreign key that the plan does not know refers to column %s of table %s with fewer than 64 bits: inspect again",
					c.Name, t.Display)))
		}
	}
	if len(rejections) == 0 {
		return nil
	}
	return engine.Statements("", pgsql.Do("", strings.Join(rejections, "")))
}

// rejectNewViews returns a rejection, which is a part of the body of a DO statement. It
// raises an error if a view that the plan does not know uses one of views. The plan drops
// views when phase widen is taken back, and DROP VIEW fails if another view uses the view.
func rejectNewViews(views []*view) string {
	known := regclasses(views)
	return rejectAll(`SELECT pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
      FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
      WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid IN (`+known+`) AND r.ev_class NOT IN (SELECT v FROM unnest(ARRAY[`+known+`]) AS v WHERE v IS NOT NULL)`,
		"sqlmigrate: %s: uses a view that has to be dropped when phase widen is taken back: drop it before, and create it again afterwards")
}

// regclasses returns a list of SQL expressions for the OIDs of the views, separated by
// commas. Without views, it returns a NULL. An expression is also NULL if its view does not
// exist any more. Callers remove the NULLs before they use the list in NOT IN, because x NOT
// IN (1, NULL) is never true.
func regclasses(views []*view) string {
	if len(views) == 0 {
		return "NULL::oid"
	}
	return pgsql.Join(views, ", ", func(v *view) string { return "to_regclass(" + pgsql.Literal(v.Target()) + ")::oid" })
}

// rejectNewUses returns a rejection, which is a part of the body of a DO statement. It
// raises an error if an object that the plan does not know uses the columns, or columns
// that partitions and children inherit from them, because PostgreSQL would not change their
// type back. r.ev_class is the view of a rule. The plan knows the given views, because it
// drops them itself. Each % in the name of the table is doubled, because format reads the
// message.
func rejectNewUses(t *table, columns []*column, views []*view) string {
	var conditions []string
	for _, c := range columns {
		for _, m := range c.members {
			conditions = append(conditions, "att.attrelid = to_regclass("+pgsql.Literal(m.relation.Target())+") AND att.attname = "+pgsql.Literal(m.Name))
		}
	}
	return rejectAll("SELECT "+pgcatalog.DescribeUse+"\n      FROM pg_catalog.pg_attribute att\n"+pgcatalog.JoinUses+
		"\n      WHERE ("+strings.Join(conditions, " OR ")+")\n"+pgcatalog.IsUse+
		"\n        AND coalesce(r.ev_class NOT IN (SELECT v FROM unnest(ARRAY["+regclasses(views)+"]) AS v WHERE v IS NOT NULL), true)",
		"sqlmigrate: %s: uses a column of table "+strings.ReplaceAll(t.Display.String(), "%", "%%")+", whose type PostgreSQL then does not change back: drop it before, and create it again afterwards")
}
