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
// the connection, because the server continues a statement whose client is gone. The
// parameter other of its methods is another connection to the server.
type Backend interface {
	// End tells the server to end the session. It has no effect if the session has ended
	// and the server has given its ID to another session.
	End(ctx context.Context, other *sql.Conn) error

	// Ended reports whether the session neither holds a lock nor waits for a lock.
	Ended(ctx context.Context, other *sql.Conn) (bool, error)

	// EndSQL returns a statement with which a person can end the session.
	EndSQL() string
}

// EndBackend ends b, the server's session of conn, over another connection of pool, and
// waits until the session has ended. It is called when conn is unusable, for example
// because the network failed in a statement. The server does not notice that the client is
// gone. Without EndBackend, the session could therefore go on waiting for a lock, and
// programs that use the table would wait behind the session.
//
// EndBackend returns err, which is the error of the work on conn. If the session cannot be
// ended, the returned error also tells how to end it by hand. If err is nil, the work has
// succeeded, so EndBackend returns nil in any case.
func EndBackend(ctx context.Context, conn *sql.Conn, pool *sql.DB, b Backend, err error) error {
	Discard(conn) // first, because pool may allow only one connection
	if endErr := endElsewhere(ctx, pool, b); endErr != nil && err != nil {
		return fmt.Errorf("%w; the statement may still be running and blocking others; stop it with: %s (%w)", err, b.EndSQL(), endErr)
	}
	return err
}

// Discard closes conn, whose state is unknown, instead of returning it to the pool. To do
// so, it makes conn report ErrBadConn, after which database/sql drops the connection. A
// pool that allows only one connection can then open a new connection.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// endElsewhere ends the session b over another connection of pool, and waits until the
// session has ended, for at most EndTimeout. It does this even if ctx has ended, because a
// canceled ctx is often the reason why the connection of b was lost. pool is nil if the
// user has passed a single connection instead of a pool.
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

// ReturnConn returns conn to its pool. It is not an error if conn is closed already,
// because [Discard] may have closed it.
func ReturnConn(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("sqlmigrate: return the connection to its pool: %w", err)
	}
	return nil
}
