package sqllease

import (
	"context"
	"database/sql"
	"time"
)

const (
	// statementTimeout is how long a server may take for a statement that inspects a
	// connection. If a pool keeps many connections, each gets less time, because all of
	// them may be dead, but at least minStatementTimeout.
	statementTimeout    = 5 * time.Second
	minStatementTimeout = 2 * time.Second
)

// A timedConn sends the statements that inspect a connection, each with a time limit.
type timedConn struct {
	conn  *sql.Conn
	limit time.Duration // for each statement
}

// queryRow scans the first row of the statement's result into dest. Without a row, it
// returns [sql.ErrNoRows]. It ignores columns beyond dest, because SHOW CREATE TABLE returns
// more columns for a view than for a table.
func (c timedConn) queryRow(ctx context.Context, statement string, dest ...any) error {
	return c.withLimit(ctx, statement, func(ctx context.Context) error {
		rows, err := c.conn.QueryContext(ctx, statement)
		if err != nil {
			return err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			return sql.ErrNoRows
		}
		for len(dest) < len(columns) {
			dest = append(dest, new(any))
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		return rows.Close()
	})
}

// exec executes a statement that returns no rows.
func (c timedConn) exec(ctx context.Context, statement string) error {
	return c.withLimit(ctx, statement, func(ctx context.Context) error {
		_, err := c.conn.ExecContext(ctx, statement)
		return err
	})
}

// withLimit calls f, which sends the statement, with a context that ends after c.limit. If
// the time runs out, the error names the statement.
func (c timedConn) withLimit(ctx context.Context, statement string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	began := time.Now()
	return asSlowError(ctx, statement, began, f(ctx))
}

// An execer is a connection, or a transaction on a connection.
type execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// eachRow calls scan for each row that the query returns. If ctx ends, the error names the
// query.
func eachRow(ctx context.Context, conn execer, query string, args []any, scan func(*sql.Rows) error) error {
	began := time.Now()
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return asSlowError(ctx, query, began, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return asSlowError(ctx, query, began, rows.Err())
}

// queryTexts returns the values of a query with one column.
func queryTexts(ctx context.Context, on execer, query string, args ...any) (all []string, err error) {
	err = eachRow(ctx, on, query, args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		all = append(all, text)
		return err
	})
	return all, err
}
