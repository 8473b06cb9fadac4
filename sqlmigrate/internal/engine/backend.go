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

// A Backend is the session that a server keeps for a connection. The session can outlive
// the connection, because the server continues a statement whose client is gone.
type Backend interface {
	// End tells the server, over another connection, to end the session. It has no effect
	// if the session's ID belongs to another session in the meantime.
	End(ctx context.Context, other *sql.Conn) error

	// Ended reports whether the session neither holds a lock nor waits for a lock.
	Ended(ctx context.Context, other *sql.Conn) (bool, error)

	// EndSQL returns a statement with which a person can end the session.
	EndSQL() string
}

// EndBackend ends the session b of the server after conn, the connection of this session,
// was lost, and waits until it has ended. This is necessary because a server that waits
// for a lock does not notice that its client is gone, and later sessions would wait
// behind it. EndBackend returns err, which is the error of the statement on conn. If the
// session cannot be ended, the returned error also tells how to end it by hand.
func EndBackend(ctx context.Context, conn *sql.Conn, pool *sql.DB, b Backend, err error) error {
	Discard(conn)
	if endErr := endElsewhere(ctx, pool, b); endErr != nil && err != nil {
		return fmt.Errorf("%w; the statement may still be running and blocking others; stop it with: %s (%w)", err, b.EndSQL(), endErr)
	}
	return err
}

// Discard closes conn, whose state is unknown, instead of returning it to the pool,
// because database/sql drops a connection that reports ErrBadConn. A pool that allows
// only one connection can then open a new connection.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// endElsewhere ends b over another connection of pool, within EndTimeout, even if ctx has
// ended, because a canceled ctx is often the reason why conn was lost.
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

// awaitEnd asks the server until b has ended, because a server may confirm the command to
// end a session before the session has released its locks. It pauses for 1 ms at first,
// and for twice as long before each further question, up to 50 ms.
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

// ReturnConn returns conn to its pool. If the engine or the database has already closed
// the connection, this is not an error.
func ReturnConn(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("sqlmigrate: return the connection to its pool: %w", err)
	}
	return nil
}
