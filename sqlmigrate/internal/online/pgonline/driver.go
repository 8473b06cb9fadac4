// Package pgonline plans and runs online moves on PostgreSQL, which make keys wide while
// programs read and write. A move adds columns that a trigger keeps equal to the old
// columns, copies the rows in batches, builds indexes concurrently, and swaps the names
// of the columns in one transaction. From then on the trigger keeps the old columns equal
// to the new ones, so that the swap can be taken back, until the old columns are dropped.
//
// Package online calls the methods of [Driver]. LoadMove finds a stored move, PlanOnline
// plans a new move, and OpenMove prepares the connection. Then package online calls
// RunStep or RunBatch for each step, which record the progress in the journal, a table in
// the database.
//
// The function readGraph reads the catalog into a graph. Then the functions blockers and
// stages compute the plan from the graph. Only plan.go and the end of recreate.go send
// queries while a plan is made. The queries of recreate.go create an empty temporary copy
// of a table, for which the server writes the definitions of CHECKs and indexes with the
// new columns. stages.go and swap.go build the stages from the steps of steps.go and the
// statements of alter.go. partitions.go handles partitions, recreate.go the objects that
// are dropped and created again, and files.go the short stages as migration files.
package pgonline

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Driver implements [engine.Online] for PostgreSQL 14 and later.
type Driver struct{ engine.Journal }

var _ engine.Online = Driver{}

// inspecting is the beginning of errors while a plan is made.
const inspecting = "sqlmigrate: online: inspect"

// oldestVersion is the oldest server that the queries support, as server_version_num.
const oldestVersion = 140000

// inspectError returns err with the beginning of errors while a plan is made, or nil if err
// is nil.
func inspectError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(inspecting+": %w", err)
}

// Retry implements [engine.Online]. It reports whether a step that failed with err may
// succeed at the next attempt, and describes the session that probably holds the lock. A
// step is tried again after a lock that was not available, a deadlock or a conflict with
// another transaction, because these are over soon. A short step is also tried again after
// it was canceled, because its timeout cancels it if it waits too long for a lock.
func (Driver) Retry(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, err error) (bool, string) {
	switch state := pgsql.State(err); {
	case state == pgsql.LockNotAvailable, state == pgsql.DeadlockDetected, state == pgsql.SerializationFailure,
		state == pgsql.QueryCanceled && step.Kind == plan.Short: // a long step has no timeout, so somebody has canceled it on purpose
		return true, describeHolder(ctx, conn)
	}
	return false, ""
}

// describeHolder describes the oldest transaction of another session that holds locks on
// tables, because the step probably waits for this transaction. It returns "" if it finds
// no transaction, or may not see it. It ignores an error, because the step has already
// failed with another error.
func describeHolder(ctx context.Context, conn *sql.Conn) (text string) {
	_ = conn.QueryRowContext(ctx, `
SELECT format('process %s (%s, %s) has a transaction of %s s, %s: %s', a.pid, coalesce(a.usename, a.backend_type), coalesce(nullif(a.application_name, ''), 'unnamed'),
       round(extract(epoch FROM clock_timestamp() - a.xact_start)::numeric, 1), coalesce(a.state, 'running'), left(regexp_replace(coalesce(a.query, ''), '\s+', ' ', 'g'), 80))
FROM pg_catalog.pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL AND a.datname = current_database()
  AND EXISTS (SELECT FROM pg_catalog.pg_locks l WHERE l.pid = a.pid AND l.locktype = 'relation' AND l.granted)
ORDER BY a.xact_start LIMIT 1`).Scan(&text)
	return text
}

// Running implements [engine.Online]. It returns the number of active statements of
// clients. The server's own processes, such as autovacuum, and this query do not count.
func (Driver) Running(ctx context.Context, conn *sql.Conn) (n int, err error) {
	err = conn.QueryRowContext(ctx, "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("the statements that are running: %w", err)
	}
	return n, nil
}

// Lag implements [engine.Online]. It returns how far the slowest replica is behind, or zero
// if there are no replicas or the account cannot see them. It does not need the move and
// the given replicas, because the primary knows its replicas.
func (Driver) Lag(ctx context.Context, conn *sql.Conn, _ *engine.Move, _ []*sql.DB) (time.Duration, error) {
	var seconds float64
	err := conn.QueryRowContext(ctx, "SELECT coalesce(extract(epoch FROM max(replay_lag)), 0)::float8 FROM pg_catalog.pg_stat_replication").Scan(&seconds)
	if err != nil {
		return 0, fmt.Errorf("the lag of replicas: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// journalName is the name of the journal, which is the table that records the progress of
// moves. It is in the schema of the first table of the move, and exists only while a move
// in this schema has begun.
const journalName = "sqlmigrate_online"

// journal returns the quoted name of the journal in a schema, for example
// "public"."sqlmigrate_online".
func journal(schema string) string { return pgsql.Qualified(schema, journalName) }

// New returns the driver. Its journal numbers the placeholders of arguments ($1), and has
// a timestamp in column began.
func New() Driver {
	return Driver{engine.Journal{
		Table: func(m *engine.Move) string { return journal(m.Plan.Tables[0].Schema) },
		Mark:  func(argument int) string { return "$" + strconv.Itoa(argument) },
		Began: "(extract(epoch FROM began) * 1000000000)::bigint",
		Parts: "columns", // the objects that a move adds, as an error names them
	}}
}

// LoadMove implements [engine.Online]. It returns the stored move that contains any of
// the tables, or nil. It searches the journals in the schemas of all tables, because the
// first table of the stored move may be any of them.
func (d Driver) LoadMove(ctx context.Context, conn *sql.Conn, tables []plan.TableName) (*engine.Move, error) {
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var known, journals []plan.TableName
	for _, t := range r.Resolve(ctx, tables) {
		if t != nil {
			known = append(known, plan.TableName{Schema: t.Schema, Name: t.Name})
			journals = engine.AppendNew(journals, plan.TableName{Schema: t.Schema, Name: journalName})
		}
	}
	for _, relation := range r.Resolve(ctx, journals) {
		if relation == nil { // the schema has no journal, so no move has begun in it
			continue
		}
		if m, err := d.Find(ctx, r.Tx, relation.Target(), known); m != nil || err != nil {
			return m, err
		}
	}
	return nil, r.Err()
}

// journalColumns has the columns of the journal, as CREATE TABLE takes them. Package
// engine writes most of them. Column made is the hash that storeState stores, by which
// the way back notices whether a user has changed an object that the swap created.
const journalColumns = ` (
  id text PRIMARY KEY, plan text NOT NULL, back boolean NOT NULL DEFAULT false, stage integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0, position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  rate double precision NOT NULL DEFAULT 0, waits bigint NOT NULL DEFAULT 0, steering text NOT NULL DEFAULT '{}', made text, began timestamptz NOT NULL)`

// CloseMove implements [engine.Online]. It deletes the row of the move from the journal,
// and drops the journal if no other move has a row in it. The lock keeps another process
// from adding a row between the check and the DROP.
func (d Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	table := d.Table(m)
	_, err := conn.ExecContext(ctx, pgsql.Do("", "  LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE;\n"+
		"  DELETE FROM "+table+" WHERE id = "+pgsql.Literal(m.Plan.ID())+";\n"+
		"  IF NOT EXISTS (SELECT FROM "+table+") THEN\n    DROP TABLE "+table+";\n  END IF;\n"))
	return err
}
