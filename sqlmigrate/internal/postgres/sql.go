package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// ownerOf is a part of the body of a DO statement. It gives an object to the
// user who owns a table at that time.
func ownerOf(kind, object, table string) string {
	return fmt.Sprintf("  EXECUTE format('ALTER %s %%s OWNER TO %%I', %s,\n"+
		"    (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %s::regclass));\n",
		kind, pgsql.Literal(object), pgsql.Literal(table))
}

// has is a condition of SQL: one of the columns meets the condition, which is about
// pg_attribute.
func has(columns []*column, condition string) string {
	those := pgsql.Join(columns, " OR ", func(c *column) string {
		return "attrelid = " + pgsql.Literal(c.relation.Target()) + "::regclass AND attname = " + pgsql.Literal(c.Name)
	})
	return "EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE (" + those + ") AND " + condition + ")"
}

// areNarrow is a condition: some of the columns are narrow.
func areNarrow(columns []*column) string { return has(columns, "atttypid <> 'bigint'::regtype") }

func namesOf(columns []*column) string {
	return pgsql.Join(columns, ", ", func(c *column) string { return c.Name })
}
