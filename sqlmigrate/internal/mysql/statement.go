package mysql

import (
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// alter returns the statement ALTER TABLE t with the changes, for example DROP KEY
// `ix_user`.
func alter(t *mycatalog.Table, changes ...string) string {
	return "ALTER TABLE " + mycatalog.QuoteTable(t.TableName) + " " + strings.Join(changes, ", ")
}

// signalSQL is the beginning of a statement that fails with a message, which follows as a
// string literal.
const signalSQL = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = "

// rejectUnless returns a statement that fails with the error text unless the query returns
// true. It cuts text to 128 characters, which is the limit for the message of a SIGNAL.
func rejectUnless(text, unless string) plan.Statement {
	const most = 128
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return plan.Statement{SQL: signalSQL + mycatalog.Literal(text), Unless: unless}
}

// withoutChecks returns the statements s with two more statements. The first turns the
// checks of foreign keys off in the session, and the last turns them on.
func withoutChecks(s ...plan.Statement) []plan.Statement {
	s = append([]plan.Statement{{SQL: "SET SESSION foreign_key_checks = 0"}}, s...)
	return append(s, plan.Statement{SQL: "SET SESSION foreign_key_checks = 1"})
}

// columnsAre returns a query that is true if all columns, which are columns of one table,
// have the types that typeOf returns. typeOf is (*column).to for the new types, or
// (*column).from for the original types.
func columnsAre(columns []*column, typeOf func(*column) mycatalog.Integer) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE %s AND (%s)",
		len(columns), mycatalog.WhereTable(columns[0].Table.TableName), mycatalog.Join(columns, " OR ", func(c *column) string {
			return "(COLUMN_NAME = " + mycatalog.Literal(c.Name) + " AND " + typeOf(c).Condition() + ")"
		}))
}

// withCopyCosts returns step with the costs of a step for which the server copies table t.
// The costs are the size of the table, the time that the copy takes, and the programs that
// wait meanwhile. withCopyCosts also sets the table of the step, and replaces its Locks.
func withCopyCosts(g *graph, t *mycatalog.Table, step plan.Step) plan.Step {
	step.Table, step.Rows, step.Bytes, step.Rewrites = t.TableName, t.Rows, t.Bytes, true
	step.Estimate = CopyTime(t, g.MariaDB)
	step.Locks = "writes to the table wait until it is copied; reads wait for a moment at its end"
	return step
}

// CopyTime estimates how long an idle server needs to copy a table, from its rows and
// bytes. The times for a row and a byte are those of the machine that docs/measurements.md
// names.
func CopyTime(t *mycatalog.Table, mariadb bool) time.Duration {
	perRow, nanosPerByte := 700*time.Nanosecond, 47.0
	if mariadb {
		perRow, nanosPerByte = 1600*time.Nanosecond, 12.0
	}
	return time.Duration(t.Rows)*perRow + time.Duration(float64(t.Bytes)*nanosPerByte)
}
