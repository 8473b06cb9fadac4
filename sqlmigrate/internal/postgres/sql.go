package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// setOwner returns a part of the body of a DO statement that makes the owner of table also
// the owner of object. It reads the owner when the statement runs, because the owner may
// have changed since the plan was made. kind is SEQUENCE or STATISTICS, and both names are
// quoted.
func setOwner(kind, object, table string) string {
	return fmt.Sprintf("  EXECUTE format('ALTER %s %%s OWNER TO %%I', %s,\n"+
		"    (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %s::regclass));\n",
		kind, pgsql.Literal(object), pgsql.Literal(table))
}

// anyColumn returns an SQL condition that is true if at least one of the columns meets
// condition. condition is about the column's row in pg_attribute, for example attidentity =
// 'a'.
func anyColumn(columns []*column, condition string) string {
	matches := pgsql.Join(columns, " OR ", func(c *column) string {
		return "attrelid = " + pgsql.Literal(c.relation.Target()) + "::regclass AND attname = " + pgsql.Literal(c.Name)
	})
	return "EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE (" + matches + ") AND " + condition + ")"
}

// anyNarrow returns an SQL condition that is true if at least one of the columns is not a
// bigint. Phase widen uses it to find out whether a statement has been done, which is so if
// the condition is false.
func anyNarrow(columns []*column) string { return anyColumn(columns, "atttypid <> 'bigint'::regtype") }

// namesOf returns the names of the columns for the text of a step.
func namesOf(columns []*column) string {
	return pgsql.Join(columns, ", ", func(c *column) string { return c.Name })
}

// alter returns an ALTER TABLE statement with a command for the column, such as DROP
// DEFAULT. only is "ONLY ", which excludes partitions and children, or empty.
func (c *column) alter(only, command string) string {
	return "ALTER TABLE " + only + c.relation.Target() + " ALTER COLUMN " + pgsql.Quote(c.Name) + " " + command
}
