package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// setOwner returns a part of the body of a DO statement. It makes the present owner of
// table the owner of object. kind is SEQUENCE or STATISTICS, and both names are quoted.
func setOwner(kind, object, table string) string {
	return fmt.Sprintf("  EXECUTE format('ALTER %s %%s OWNER TO %%I', %s,\n"+
		"    (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %s::regclass));\n",
		kind, pgsql.Literal(object), pgsql.Literal(table))
}

// anyColumn returns an SQL condition that at least one of the columns meets condition,
// which is about its row in pg_attribute.
func anyColumn(columns []*column, condition string) string {
	matches := pgsql.Join(columns, " OR ", func(c *column) string {
		return "attrelid = " + pgsql.Literal(c.relation.Target()) + "::regclass AND attname = " + pgsql.Literal(c.Name)
	})
	return "EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE (" + matches + ") AND " + condition + ")"
}

// anyNarrow returns a condition that at least one of the columns is not a bigint. A
// statement of phase widen is done if it is false.
func anyNarrow(columns []*column) string { return anyColumn(columns, "atttypid <> 'bigint'::regtype") }

// namesOf returns the names of the columns for the text of a step.
func namesOf(columns []*column) string {
	return pgsql.Join(columns, ", ", func(c *column) string { return c.Name })
}

// alter returns an ALTER TABLE statement with a command for the column. only is "ONLY "
// or empty.
func (c *column) alter(only, command string) string {
	return "ALTER TABLE " + only + c.relation.Target() + " ALTER COLUMN " + pgsql.Quote(c.Name) + " " + command
}
