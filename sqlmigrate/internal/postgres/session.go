package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A session is one transaction. It is not an [sql.Tx], because that is rolled
// back with the context that it began with, or behind the caller's back.
type session struct {
	conn    *sql.Conn
	pool    *sql.DB
	backend pgsql.Backend
}

func begin(ctx context.Context, conn *sql.Conn, pool *sql.DB) (*session, error) {
	s := &session{conn, pool, pgsql.Backend{Key: strconv.FormatInt(rand.Int64(), 10)}}
	if err := s.exec(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_backend_pid() FROM pg_catalog.pg_advisory_xact_lock("+s.backend.Key+")").Scan(&s.backend.PID)
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
