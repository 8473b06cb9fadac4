package mysql

import (
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

func alter(t *mycatalog.Table, changes ...string) string {
	return "ALTER TABLE " + mycatalog.QuoteTable(t.TableName) + " " + strings.Join(changes, ", ")
}

// columnsAre is a query that returns true if each column of the table has the type,
// which is (*column).to or (*column).from.
func columnsAre(columns []*column, typeOf func(*column) mycatalog.Integer) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE %s AND (%s)",
		len(columns), mycatalog.WhereTable(columns[0].Table.TableName), mycatalog.Join(columns, " OR ", func(c *column) string {
			return "(COLUMN_NAME = " + mycatalog.Literal(c.Name) + " AND " + typeOf(c).Condition() + ")"
		}))
}

func (c *column) from() mycatalog.Integer { return c.Integer() }

func (c *column) to() mycatalog.Integer { return c.wide }

const signal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "

// rejectUnless fails with text unless the query returns true. A condition has 128
// characters for its message.
func rejectUnless(text, unless string) plan.Statement {
	const most = 128
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return plan.Statement{SQL: signal + mycatalog.Literal(text), Unless: unless}
}

func unchecked(s ...plan.Statement) []plan.Statement {
	s = append([]plan.Statement{{SQL: "SET SESSION foreign_key_checks = 0"}}, s...)
	return append(s, plan.Statement{SQL: "SET SESSION foreign_key_checks = 1"})
}

// rewrite is a step that copies the table.
func rewrite(g *graph, t *mycatalog.Table, step plan.Step) plan.Step {
	step.Table, step.Rows, step.Bytes, step.Rewrites = t.String(), t.Rows, t.Bytes, true
	step.Estimate = CopyTime(t, g.MariaDB)
	step.Locks = "writes to the table wait until it is copied; reads wait for a moment at its end"
	return step
}

// CopyTime estimates how long the server needs to copy a table.
func CopyTime(t *mycatalog.Table, mariadb bool) time.Duration {
	row, perByte := 700*time.Nanosecond, 47.0
	if mariadb {
		row, perByte = 1600*time.Nanosecond, 12.0
	}
	return time.Duration(t.Rows)*row + time.Duration(float64(t.Bytes)*perByte)
}

// lookupTime estimates how long it needs to look each row up in another table.
func lookupTime(t *mycatalog.Table, mariadb bool) time.Duration {
	if mariadb {
		return time.Duration(t.Rows) * 2500 * time.Nanosecond
	}
	return time.Duration(t.Rows) * 3 * time.Microsecond
}
