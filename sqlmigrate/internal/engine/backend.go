package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// EndTimeout is how long a server may take to end what it was told to, and
// a connection to be had over which it is told.
const EndTimeout = 5 * time.Second

// A Backend is the server's side of a connection.
type Backend interface {
	// End ends it over another connection, if it is the one that it was.
	End(ctx context.Context, other *sql.Conn) error

	// Ended reports whether it holds no locks any more and waits for none.
	Ended(ctx context.Context, other *sql.Conn) (bool, error)

	// EndSQL is the statement that ends it by hand.
	EndSQL() string
}

// EndBackend ends b after conn was lost, and waits until it has ended: a server
// that waits for a lock does not notice that its client is gone, and everybody
// who comes later waits behind it. It returns err, with a hint if b may still
// be running.
func EndBackend(ctx context.Context, conn *sql.Conn, pool *sql.DB, b Backend, err error) error {
	Discard(conn)
	if failed := endElsewhere(ctx, pool, b); failed != nil && err != nil {
		return fmt.Errorf("%w; the statement may still be running and blocking others; stop it with: %s (%w)", err, b.EndSQL(), failed)
	}
	return err
}

// Discard ends a connection of which nothing is known. Its place in the pool,
// which may be the only one, is free then.
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

// Sleep lets d pass, unless ctx ends first: its cause is the error.
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

// WithCause returns err with why ctx has ended, if it has: a driver may report a bad
// connection instead, even for the next statement.
func WithCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// ReturnConn returns conn to its pool. That the engine, or the database, has
// ended the connection is not an error.
func ReturnConn(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("sqlmigrate: return the connection to its pool: %w", err)
	}
	return nil
}

// Tries are the attempts at what needs a lock that others hold.
type Tries struct {
	Limit time.Duration // from the first that fails on
	Count int           // that have failed

	begun time.Time
}

// Failed counts one more, and reports whether there is time for another after a pause.
func (t *Tries) Failed(pause time.Duration) bool {
	if t.Count == 0 {
		t.begun = time.Now()
	}
	t.Count++
	return time.Since(t.begun)+pause < t.Limit
}
