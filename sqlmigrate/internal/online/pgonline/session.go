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

// settingsSQL changes settings of the session for the time of a move, and returns their
// previous values, which restore writes back. The comments give the reason of each value.
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

// A setting is a row of settingsSQL.
type setting struct{ Name, Before, Now string }

// OpenMove implements [engine.Online]. It takes the lock of the move, so that no other
// process runs it, changes the settings of the connection, and records the move if it is
// new. It returns session.release, to which the caller passes the error of its work.
func (d Driver) OpenMove(ctx context.Context, conn *sql.Conn, m *engine.Move, s engine.Settings) (func(error) error, error) {
	w := &session{ctx: ctx, conn: conn, pool: s.Pool}
	err := w.lockMove(m)
	if err == nil {
		err = w.applySettings()
	}
	if err == nil && m.Began.IsZero() { // the lock ensures that only one process records a new move
		err = d.Begin(ctx, conn, m, "CREATE TABLE IF NOT EXISTS "+d.Table(m)+journalColumns,
			"INSERT INTO "+d.Table(m)+" (id, plan, began) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING", time.Now())
	}
	if err != nil {
		return nil, w.release(err)
	}
	return w.release, nil
}

// A session is a connection that runs a move, with the state that release needs.
type session struct {
	ctx     context.Context
	conn    *sql.Conn
	pool    *sql.DB       // for another connection, over which release can end the session
	backend pgsql.Backend // the session on the server; zero until lockMove has its lock
	before  []setting     // the settings that restore writes back
}

// lockWait is how long lockMove waits for another session that has the lock, because the
// server may still run the last statement of a process that was killed.
const lockWait = 10 * time.Second

// lockMove takes an advisory lock, so that only one process runs the move. The lock
// belongs to the session on the server, and its key is a hash of the move's ID. If another
// session has the lock, lockMove tries again until lockWait is over.
func (w *session) lockMove(m *engine.Move) error {
	key := "pg_catalog.hashtextextended(" + pgsql.Literal("gormflake online "+m.Plan.ID()) + ", 0)"
	for begun := time.Now(); ; {
		var pid int64
		var got bool
		err := w.conn.QueryRowContext(w.ctx, "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_try_advisory_lock("+key+")").Scan(&pid, &got)
		if err != nil {
			return inspectError(err)
		}
		if got {
			w.backend = pgsql.Backend{PID: pid, Key: key}
			return nil
		}
		if time.Since(begun) > lockWait {
			return fmt.Errorf("sqlmigrate: online: another session carries out the move of table %s: wait for it, or end it", m.Plan.Tables[0])
		}
		if err := engine.Sleep(w.ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// applySettings changes the settings of the session as settingsSQL says, and stores their
// previous values. It fails if session_replication_role is not origin, because triggers may
// not fire then, and the new columns would miss writes.
func (w *session) applySettings() error {
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

// release restores the settings of the connection and unlocks the move, even if the context
// has ended. It returns err, the error of the caller's work. If it cannot restore the
// settings or unlock the move, it ends the session on the server, which releases all locks.
func (w *session) release(err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), engine.EndTimeout)
	defer cancel()
	restoreErr := w.restore(ctx)
	if restoreErr == nil {
		return err
	}
	if err == nil {
		err = fmt.Errorf("sqlmigrate: online: after the last step: %w", restoreErr)
	}
	return engine.EndBackend(w.ctx, w.conn, w.pool, w.backend, err)
}

// restore restores the settings that applySettings has changed, and releases the lock if
// lockMove has taken it.
func (w *session) restore(ctx context.Context) error {
	for _, s := range w.before {
		if _, err := w.conn.ExecContext(ctx, "SELECT pg_catalog.set_config($1::text, $2::text, false)", s.Name, s.Before); err != nil {
			return err
		}
	}
	if w.backend.Key == "" {
		return nil
	}
	_, err := w.conn.ExecContext(ctx, "SELECT pg_catalog.pg_advisory_unlock("+w.backend.Key+")")
	return err
}
