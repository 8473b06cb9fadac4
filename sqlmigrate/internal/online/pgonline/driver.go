// Package pgonline plans and carries out online widening on PostgreSQL: new columns
// that a trigger keeps equal to the old ones, a copy of the rows in batches, indexes
// built concurrently, and a swap of the columns in one transaction.
//
// LoadMove finds a move under way, PlanOnline plans one, and OpenMove prepares the
// connection. Package online then calls the driver for each step, and records in the
// journal (journal.go) how far it has come.
//
// A plan is made in one direction: read reads the catalog into a graph, blockers and
// stages are functions of that. Only read.go and rewrite.go ask the server while it is
// planned: rewrite.go has it write CHECKs and indexes for the new columns of an empty
// temporary copy. Partitions are in partitions.go, what is dropped and created again in
// recreate.go, short stages as migrations in files.go. The stages are in stages.go,
// swap.go and swapback.go, which put together the steps of steps.go.
package pgonline

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Driver is for PostgreSQL 14 and later.
type Driver struct{ engine.Journal }

var _ engine.Online = Driver{}

const inspecting = "sqlmigrate: online: inspect"

func inspectError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(inspecting+": %w", err)
}

// Retry implements [engine.Online].
func (Driver) Retry(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, err error) (bool, string) {
	switch state := pgsql.State(err); {
	case state == pgsql.LockNotAvailable, state == pgsql.DeadlockDetected, state == pgsql.SerializationFailure,
		state == pgsql.QueryCanceled && step.Kind == plan.Short: // a long step is canceled on purpose
		return true, holder(ctx, conn)
	}
	return false, ""
}

// holder is the oldest transaction that has locks on tables, empty if that is not known.
func holder(ctx context.Context, conn *sql.Conn) (text string) {
	_ = conn.QueryRowContext(ctx, `
SELECT format('process %s (%s, %s) has a transaction of %s s, %s: %s', a.pid, coalesce(a.usename, a.backend_type), coalesce(nullif(a.application_name, ''), 'unnamed'),
       round(extract(epoch FROM clock_timestamp() - a.xact_start)::numeric, 1), coalesce(a.state, 'running'), left(regexp_replace(coalesce(a.query, ''), '\s+', ' ', 'g'), 80))
FROM pg_catalog.pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL AND a.datname = current_database()
  AND EXISTS (SELECT FROM pg_catalog.pg_locks l WHERE l.pid = a.pid AND l.locktype = 'relation' AND l.granted)
ORDER BY a.xact_start LIMIT 1`).Scan(&text)
	return text
}

// Running implements [engine.Online].
func (Driver) Running(ctx context.Context, conn *sql.Conn) (n int, err error) {
	err = conn.QueryRowContext(ctx, "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("the statements that are running: %w", err)
	}
	return n, nil
}

// Lag implements [engine.Online].
func (Driver) Lag(ctx context.Context, conn *sql.Conn, _ *engine.Move, _ []*sql.DB) (time.Duration, error) {
	var seconds float64
	err := conn.QueryRowContext(ctx, "SELECT coalesce(extract(epoch FROM max(replay_lag)), 0)::float8 FROM pg_catalog.pg_stat_replication").Scan(&seconds)
	if err != nil {
		return 0, fmt.Errorf("the lag of replicas: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
