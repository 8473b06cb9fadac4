package myonline

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// compare runs the step of compareStep. If the ranges are equal, no row differs. Otherwise
// the first statement counts the rows that differ, which may be none, because
// equalInRanges cannot compare very long rows. compare returns an error if ctx ends before
// that statement begins.
func compare(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep) error {
	equal := equalInRanges(ctx, conn, step)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if equal {
		return nil
	}
	return engine.RunLong(context.WithoutCancel(ctx), conn, step)
}

// equalInRanges compares a table with its shadow, some rows at a time. Each range begins
// after the end of the previous one, so that together they contain all keys. For each
// range, the server makes a text of the rows of either table in the order of their keys,
// and compares the two texts. This takes less than half of the time of a join, which looks
// up each row.
//
// It returns false if a text differs, if the server has warned that it has cut a text, if a
// query has failed, or if ctx has ended, after which it begins no query.
func equalInRanges(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep) bool {
	rows := rowsOfRange(step)
	running := context.WithoutCancel(ctx)
	var warns bool // otherwise the server would not say that it has cut a text
	if err := conn.QueryRowContext(running, "SELECT @@SESSION.max_error_count > 0").Scan(&warns); err != nil || !warns {
		return false
	}
	var after any = beforeAll
	for ctx.Err() == nil {
		var key int64
		err := conn.QueryRowContext(running, step.SQL[2], after, rows-1).Scan(&key)
		last := errors.Is(err, sql.ErrNoRows)
		if err != nil && !last {
			return false
		}
		var to any = key
		if last {
			to = afterAll
		}
		var equal sql.NullBool // NULL if a text is longer than a packet of the server
		err = conn.QueryRowContext(running, step.SQL[1], after, to, after, to).Scan(&equal)
		if err != nil || !equal.Bool || noWarnings(running, conn) != nil {
			return false
		}
		if last {
			return true
		}
		after = to
	}
	return false
}

// beforeAll and afterAll are below and above all integers of the databases. They are floats,
// because no integer of Go is.
const beforeAll, afterAll = -1e19, 1e20

// maxRowsOfRange limits the rows of a range. More rows make the comparison no faster.
const maxRowsOfRange = 1000

// rowsOfRange returns the number of rows of a range. The text of rows of average length has
// an eighth of the length at which the server cuts it, because the text has two digits for
// each byte.
func rowsOfRange(step *plan.OnlineStep) int64 {
	length := max(1, step.Bytes/max(1, step.Rows)) // of a row
	return min(max(1, mysql.LongestText/16/length), maxRowsOfRange)
}
