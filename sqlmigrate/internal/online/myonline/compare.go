package myonline

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// compare runs a step of compareStep, which compares a table with its shadow, and returns an
// [engine.DifferError] if rows differ. First it compares ranges of rows, which is fast. If all
// ranges are equal, no row differs. Otherwise it runs the first statement of the step, which
// counts the rows that differ. The count may be 0, because equalInRanges cannot compare very
// long rows. compare returns an error if ctx ends before that statement begins.
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

// equalInRanges reports whether it has found a table and its shadow equal, by comparing some
// rows at a time. For each range of keys, the server makes a text of the rows of either table,
// and compares the two texts (rangeAsText). This takes less than half of the time of a join,
// which looks up each row. Each range begins after the end of the previous range, the first
// below all keys, and the last ends above all keys, so that together they contain all rows of
// both tables.
//
// It returns false if two texts differ, and also if it cannot know, because the server has
// warned that it has cut a text, a query has failed, or ctx has ended. It begins no query after
// the end of ctx.
func equalInRanges(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep) bool {
	rows := rowsOfRange(step)
	running := context.WithoutCancel(ctx)
	var warns bool // whether the session keeps warnings, by which the server reports that it has cut a text
	if err := conn.QueryRowContext(running, "SELECT @@SESSION.max_error_count > 0").Scan(&warns); err != nil || !warns {
		return false
	}
	var after any = beforeAll // the key before the range
	for ctx.Err() == nil {
		// Find the last key of a range with this number of rows. If fewer rows are left, the
		// query returns no row, and this is the last range.
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
		// The result is NULL if a text is longer than a packet of the server.
		var equal sql.NullBool
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
// because no int64 is below the lowest bigint.
const beforeAll, afterAll = -1e19, 1e20

// maxRowsOfRange limits the rows of a range. More rows make the comparison no faster.
const maxRowsOfRange = 1000

// rowsOfRange returns the number of rows of a range in the comparison of step. If each row has
// the average length, the rows have at most mysql.LongestText/16 bytes together. Their text has
// two digits for each byte, so it has at most an eighth of mysql.LongestText, the length at
// which the server cuts a text. This leaves space for rows that are longer than the average.
func rowsOfRange(step *plan.OnlineStep) int64 {
	length := max(1, step.Bytes/max(1, step.Rows)) // of a row in bytes, on average
	return min(max(1, mysql.LongestText/16/length), maxRowsOfRange)
}
