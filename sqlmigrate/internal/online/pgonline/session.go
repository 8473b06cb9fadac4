package pgonline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

// settingsSQL sets the session's settings for the time of a move, with why, and asks what
// they were.
const settingsSQL = `
SELECT name, pg_catalog.current_setting(name), pg_catalog.set_config(name, value, false)
FROM (VALUES
  ('row_security', 'off'),                      -- a policy that hides rows is an error
  ('statement_timeout', '0'),                   -- an index takes hours
  ('lock_timeout', '0'),                        -- short steps set their own
  ('idle_in_transaction_session_timeout', '0'), -- nothing here is idle in one
  ('client_connection_check_interval', '1000'), -- a kill of this program ends its statement too
  ('max_parallel_maintenance_workers', '0'),    -- one core is enough to take away
  ('vacuum_cost_delay', '2'),                   -- as autovacuum does
  ('default_transaction_isolation', 'read committed')
) AS s (name, value)`

type setting struct{ Name, Before, Now string }

// OpenMove implements [engine.Online].
func (Driver) OpenMove(ctx context.Context, conn *sql.Conn, m *engine.Move, s engine.Settings) (func(error) error, error) {
	w := &work{ctx: ctx, conn: conn, pool: s.Pool}
	err := conn.QueryRowContext(ctx, "SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&w.backend.pid, &w.backend.began)
	if err != nil {
		return nil, inspectError(err)
	}
	err = w.lock(m)
	if err == nil {
		err = w.set()
	}
	if err == nil && !m.Recorded {
		err = record(ctx, conn, m)
	}
	if err != nil {
		return nil, w.release(err)
	}
	return w.release, nil
}

// work is a connection while it carries out a move.
type work struct {
	ctx     context.Context
	conn    *sql.Conn
	pool    *sql.DB
	backend backend
	key     string // of the advisory lock, if it is held
	before  []setting
}

const lockPatience = 10 * time.Second // a killed process's statement ends within

// lock keeps out another process at the same move.
func (w *work) lock(m *engine.Move) error {
	key := pgsql.Literal("gormflake online " + identity(m))
	for begun := time.Now(); ; {
		var got bool
		err := w.conn.QueryRowContext(w.ctx, "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended("+key+", 0))").Scan(&got)
		if err != nil {
			return inspectError(err)
		}
		if got {
			w.key = key
			return nil
		}
		if time.Since(begun) > lockPatience {
			return fmt.Errorf("sqlmigrate: online: another session carries out the move of table %s: wait for it, or end it", m.Plan.Tables[0])
		}
		if err := engine.Sleep(w.ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (w *work) set() error {
	var role string
	err := w.conn.QueryRowContext(w.ctx, "SELECT pg_catalog.current_setting('session_replication_role')").Scan(&role)
	if err == nil && role != "origin" {
		return errors.New("sqlmigrate: online: session_replication_role is " + role + ": want origin, or triggers do not fire")
	}
	if err == nil {
		w.before, err = rows.Read[setting](w.ctx, w.conn, settingsSQL)
	}
	return inspectError(err)
}

// release gives the connection back as it was, or ends it where that fails.
func (w *work) release(err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), engine.EndTimeout)
	defer cancel()
	failed := w.restore(ctx)
	if failed == nil {
		return err
	}
	if err == nil {
		err = fmt.Errorf("sqlmigrate: online: after the last step: %w", failed)
	}
	return engine.EndBackend(w.ctx, w.conn, w.pool, w.backend, err)
}

func (w *work) restore(ctx context.Context) error {
	for _, s := range w.before {
		if _, err := w.conn.ExecContext(ctx, "SELECT pg_catalog.set_config($1::text, $2::text, false)", s.Name, s.Before); err != nil {
			return err
		}
	}
	if w.key == "" {
		return nil
	}
	_, err := w.conn.ExecContext(ctx, "SELECT pg_catalog.pg_advisory_unlock(pg_catalog.hashtextextended("+w.key+", 0))")
	return err
}

// A backend is identified by when it began: a process ID alone may belong to
// another one by now.
type backend struct{ pid, began int64 }

const isBackend = "pid = %d AND (extract(epoch FROM backend_start) * 1000000)::bigint = %d"

// End implements [engine.Backend].
func (b backend) End(ctx context.Context, other *sql.Conn) error {
	_, err := other.ExecContext(ctx, fmt.Sprintf("SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE "+isBackend, b.pid, b.began))
	return err
}

// Ended implements [engine.Backend].
func (b backend) Ended(ctx context.Context, other *sql.Conn) (bool, error) {
	var runs bool
	err := other.QueryRowContext(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE "+isBackend+")", b.pid, b.began)).Scan(&runs)
	return !runs, err
}

// EndSQL implements [engine.Backend].
func (b backend) EndSQL() string { return fmt.Sprintf("SELECT pg_terminate_backend(%d)", b.pid) }
