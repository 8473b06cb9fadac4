package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// EndTimeout limits the time to get another connection and to end a session of the server
// over it.
const EndTimeout = 5 * time.Second

// A Backend is the server's session of a connection.
type Backend interface {
	// End tells the server, over another connection, to end the session. It has no effect
	// if the session's ID belongs to another session in the meantime.
	End(ctx context.Context, other *sql.Conn) error

	// Ended reports whether the session no longer holds a lock or waits for one.
	Ended(ctx context.Context, other *sql.Conn) (bool, error)

	// EndSQL returns a statement with which a person can end the session.
	EndSQL() string
}

// EndBackend ends b after conn was lost, and waits until it has ended. This is necessary
// because a server that waits for a lock does not notice that its client is gone, and
// later sessions would wait behind it. It returns err; if ending failed, the error tells
// how to end b by hand.
func EndBackend(ctx context.Context, conn *sql.Conn, pool *sql.DB, b Backend, err error) error {
	Discard(conn)
	if failed := endElsewhere(ctx, pool, b); failed != nil && err != nil {
		return fmt.Errorf("%w; the statement may still be running and blocking others; stop it with: %s (%w)", err, b.EndSQL(), failed)
	}
	return err
}

// Discard closes conn, whose state is unknown, instead of returning it to the pool. If
// the pool allows only one connection, it can then open another.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

func endElsewhere(ctx context.Context, pool *sql.DB, b Backend) (err error) {
	if pool == nil {
		return errors.New("db was opened on one connection, and there is no other to stop it from")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), EndTimeout)
	defer cancel()
	other, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ReturnConn(other)) }()
	if err := b.End(ctx, other); err != nil {
		return err
	}
	return awaitEnd(ctx, other, b)
}

func awaitEnd(ctx context.Context, other *sql.Conn, b Backend) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ended, err := b.Ended(ctx, other)
		if ended || err != nil {
			return err
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// Sleep waits for d. If ctx ends first, it returns the cause of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// WithCause returns err, wrapped with the cause of ctx if ctx has ended. It is needed
// because a driver may report a bad connection instead, even for the next statement.
func WithCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// ReturnConn returns conn to its pool. If the engine or the database has already closed
// the connection, this is not an error.
func ReturnConn(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("sqlmigrate: return the connection to its pool: %w", err)
	}
	return nil
}

// Tries counts the attempts at a statement that needs a lock which other sessions hold.
type Tries struct {
	Limit time.Duration // the time for all attempts, from the first failure on
	Count int           // the number of failed attempts

	begun time.Time
}

// Failed counts a failed attempt, and reports whether there is time for a pause and
// another attempt.
func (t *Tries) Failed(pause time.Duration) bool {
	if t.Count == 0 {
		t.begun = time.Now()
	}
	t.Count++
	return time.Since(t.begun)+pause < t.Limit
}
