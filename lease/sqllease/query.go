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

// An asker sends the statements that inspect a connection, each with a time limit.
type asker struct {
	conn  *sql.Conn
	limit time.Duration // for each statement
}

// ask scans the first row of the statement's result into dest. It ignores columns
// beyond dest. No row is [sql.ErrNoRows].
func (a asker) ask(ctx context.Context, statement string, dest ...any) error {
	return a.timed(ctx, statement, func(ctx context.Context) error {
		rows, err := a.conn.QueryContext(ctx, statement)
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

// exec executes a statement without a result.
func (a asker) exec(ctx context.Context, statement string) error {
	return a.timed(ctx, statement, func(ctx context.Context) error {
		_, err := a.conn.ExecContext(ctx, statement)
		return err
	})
}

// timed calls f, which sends the statement, with the time limit. If the time runs out,
// the error names the statement.
func (a asker) timed(ctx context.Context, statement string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	began := time.Now()
	return unanswered(ctx, statement, began, f(ctx))
}

// An execer is a connection, or a transaction on a connection.
type execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// eachRow calls scan for each row that the query returns.
func eachRow(ctx context.Context, conn execer, query string, args []any, scan func(*sql.Rows) error) error {
	began := time.Now()
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return unanswered(ctx, query, began, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return unanswered(ctx, query, began, rows.Err())
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
