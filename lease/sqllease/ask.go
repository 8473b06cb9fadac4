package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
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

func (a asker) exec(ctx context.Context, statement string) error {
	return a.timed(ctx, statement, func(ctx context.Context) error {
		_, err := a.conn.ExecContext(ctx, statement)
		return err
	})
}

func (a asker) timed(ctx context.Context, statement string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	began := time.Now()
	return unanswered(ctx, statement, began, f(ctx))
}

// A slowError is the error of a statement that was not answered within its time.
type slowError struct {
	statement string
	after     time.Duration
	cause     error
}

func (e *slowError) Error() string {
	return fmt.Sprintf("no answer within %v to %s: %v", e.after.Round(time.Millisecond), e.brief(), e.cause)
}

func (e *slowError) Unwrap() error { return e.cause }

// brief returns the beginning of the statement, in one line.
func (e *slowError) brief() string {
	const most = 60
	text := strings.Join(strings.Fields(e.statement), " ")
	if len(text) > most {
		text = text[:most] + " ..."
	}
	return text
}

// unanswered returns err, with the statement and its time if ctx has ended.
func unanswered(ctx context.Context, statement string, began time.Time, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return &slowError{statement, time.Since(began), err}
}
