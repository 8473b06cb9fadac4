package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A session is one transaction. It is not an [sql.Tx], because that is rolled
// back with the context that it began with, or behind the caller's back.
type session struct {
	conn    *sql.Conn
	pool    *sql.DB
	backend backend
}

func begin(ctx context.Context, conn *sql.Conn, pool *sql.DB) (*session, error) {
	s := &session{conn: conn, pool: pool}
	if err := s.exec(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	err := conn.QueryRowContext(ctx, backendSQL).Scan(&s.backend.server, &s.backend.pid, &s.backend.transaction)
	if err != nil {
		return nil, s.rollback(ctx, err)
	}
	return s, nil
}

func (s *session) lockTimeout(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", max(1, int64(d/time.Millisecond))))
}

// watchClient makes the server end a statement whose client is gone, such as a
// program that was killed, also while it waits for a lock. Servers before
// PostgreSQL 14, and some platforms, cannot.
func (s *session) watchClient(ctx context.Context) error {
	return s.exec(ctx, `DO $$ BEGIN
  IF current_setting('client_connection_check_interval', true) = '0' THEN
    PERFORM pg_catalog.set_config('client_connection_check_interval', '1s', true);
  END IF;
EXCEPTION WHEN OTHERS THEN NULL;
END $$`)
}

// exec asks the context itself: of one that has ended, pgx reports that the
// connection is bad, which database/sql then closes.
func (s *session) exec(ctx context.Context, statement string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// rollback returns err when the server has done so, or is told to over another
// connection.
func (s *session) rollback(ctx context.Context, err error) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.EndTimeout)
	defer cancel()
	if _, failed := s.conn.ExecContext(own, "ROLLBACK"); failed == nil {
		return err
	}
	return engine.EndBackend(ctx, s.conn, s.pool, s.backend, err)
}

// A backend is identified by its transaction, which no other has until the
// server restarts: a process ID alone may belong to another backend by now.
type backend struct {
	server      int64 // when it was started
	pid         int64
	transaction string
}

const (
	serverSQL  = "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"
	backendSQL = "SELECT " + serverSQL + ", pid, virtualxid FROM pg_catalog.pg_locks " +
		"WHERE pid = pg_backend_pid() AND locktype = 'virtualxid' AND mode = 'ExclusiveLock' AND granted"
)

// End asks as the user who has logged in: the role that connections are set to
// may not end what that one has begun.
func (b backend) End(ctx context.Context, other *sql.Conn) error {
	_, err := other.ExecContext(ctx, fmt.Sprintf("DO $$ BEGIN SET LOCAL ROLE NONE; PERFORM pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_locks "+
		"WHERE pid = %d AND virtualxid = '%s' AND mode = 'ExclusiveLock' AND granted AND %s = %d; END $$", b.pid, b.transaction, serverSQL, b.server))
	return err
}

// Ended asks for the process, since its transaction has ended before its locks
// are released.
func (b backend) Ended(ctx context.Context, other *sql.Conn) (bool, error) {
	var holds bool
	err := other.QueryRowContext(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE pid = %d AND %s = %d)",
		b.pid, serverSQL, b.server)).Scan(&holds)
	return !holds, err
}

func (b backend) EndSQL() string { return fmt.Sprintf("SELECT pg_terminate_backend(%d)", b.pid) }
