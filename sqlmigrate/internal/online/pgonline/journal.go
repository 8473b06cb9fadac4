package pgonline

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// journalName is a table in the schema of the first table of a move. It is there
// while one is under way.
const journalName = "sqlmigrate_online"

func journal(m *engine.Move) string { return pgsql.Qualified(m.Plan.Tables[0].Schema, journalName) }

// identity names the move: a table has one at most.
func identity(m *engine.Move) string { return m.Plan.Tables[0].String() }

// LoadMove implements [engine.Online].
func (Driver) LoadMove(ctx context.Context, conn *sql.Conn, tables []engine.TableName) (*engine.Move, error) {
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var known, journals []engine.TableName
	for _, t := range r.Resolve(ctx, tables) {
		if t != nil {
			known = append(known, engine.TableName{Schema: t.Schema, Name: t.Name})
			journals = engine.AppendNew(journals, engine.TableName{Schema: t.Schema, Name: journalName})
		}
	}
	for _, journal := range r.Resolve(ctx, journals) {
		if journal == nil {
			continue
		}
		records := pgcatalog.Read[struct {
			engine.Record
			Began sql.NullTime
		}](ctx, r, "SELECT plan, back, stage, done, position, until, copied, rate, waits, steering, began FROM "+journal.Target()+" ORDER BY id")
		for _, r := range records {
			m, err := r.Move(r.Began.Time)
			if err != nil {
				return nil, fmt.Errorf("sqlmigrate: online: the plan in table %s: %w", journal.Target(), err)
			}
			if slices.ContainsFunc(m.Plan.Tables, func(t engine.TableName) bool { return slices.Contains(known, t) }) {
				return m, nil
			}
		}
	}
	return nil, r.Err()
}

const journalColumns = ` (
  id text PRIMARY KEY, plan text NOT NULL, back boolean NOT NULL DEFAULT false, stage integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0, position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  rate double precision NOT NULL DEFAULT 0, waits bigint NOT NULL DEFAULT 0, steering text NOT NULL DEFAULT '{}', made text, began timestamptz NOT NULL)`

// record begins the journal. The lock keeps apart two that begin.
func record(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	plan, err := json.Marshal(m.Plan)
	if err != nil {
		return fmt.Errorf("sqlmigrate: online: %w", err)
	}
	_, err = conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+journal(m)+journalColumns)
	if err != nil {
		return fmt.Errorf("sqlmigrate: online: create the journal: %w", err)
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO "+journal(m)+" (id, plan, began) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
		identity(m), string(plan), time.Now())
	return writeError(err)
}

func writeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlmigrate: online: write the journal: %w", err)
}

// SaveMove implements [engine.Online].
func (Driver) SaveMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	result, err := conn.ExecContext(ctx, "UPDATE "+journal(m)+" SET back = $1, stage = $2, done = $3, position = $4, until = $5, copied = $6, rate = $7, waits = $8 WHERE id = $9",
		m.Back, m.From, m.Done, m.Position, m.Until, m.Copied, m.Rate, m.Waits, identity(m))
	if err != nil {
		return writeError(err)
	}
	if n, err := result.RowsAffected(); err == nil && n != 1 {
		return fmt.Errorf("sqlmigrate: online: the journal %s has lost the move of table %s: restore it from a backup, or drop columns and triggers by hand", journal(m), m.Plan.Tables[0])
	}
	return nil
}

// Steer implements [engine.Online].
func (Driver) Steer(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	text, err := json.Marshal(m.Steering)
	if err == nil {
		_, err = conn.ExecContext(ctx, "UPDATE "+journal(m)+" SET steering = $1 WHERE id = $2", string(text), identity(m))
	}
	return writeError(err)
}

// CloseMove implements [engine.Online].
func (Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	return inTransaction(ctx, conn, func() error {
		_, err := conn.ExecContext(ctx, "LOCK TABLE "+journal(m)+" IN ACCESS EXCLUSIVE MODE; DELETE FROM "+journal(m)+" WHERE id = "+pgsql.Literal(identity(m)))
		if err != nil {
			return err
		}
		var others bool
		if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM "+journal(m)+")").Scan(&others); err != nil || others {
			return err
		}
		_, err = conn.ExecContext(ctx, "DROP TABLE "+journal(m))
		return err
	})
}
