package pgonline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
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
	resolved, err := resolveAll(ctx, conn, tables)
	if err != nil {
		return nil, err
	}
	var schemas []string
	for _, t := range resolved {
		if !slices.Contains(schemas, t.Schema) {
			schemas = append(schemas, t.Schema)
		}
	}
	for _, schema := range schemas {
		m, err := loadFrom(ctx, conn, schema, resolved)
		if m != nil || err != nil {
			return m, err
		}
	}
	return nil, nil
}

// resolveAll adds schemas, and leaves out what is not there.
func resolveAll(ctx context.Context, conn *sql.Conn, tables []engine.TableName) ([]engine.TableName, error) {
	var resolved []engine.TableName
	for _, t := range tables {
		var full engine.TableName
		err := conn.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1::text)`, pgsql.Qualified(t.Schema, t.Name)).Scan(&full.Schema, &full.Name)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, inspectError(err)
		}
		resolved = append(resolved, full)
	}
	return resolved, nil
}

func loadFrom(ctx context.Context, conn *sql.Conn, schema string, tables []engine.TableName) (*engine.Move, error) {
	table := pgsql.Qualified(schema, journalName)
	var exists bool
	if err := conn.QueryRowContext(ctx, "SELECT to_regclass($1::text) IS NOT NULL", table).Scan(&exists); err != nil || !exists {
		return nil, inspectError(err)
	}
	rows, err := conn.QueryContext(ctx, "SELECT plan, back, stage, done, position, until, copied, began FROM "+table+" ORDER BY id")
	if err != nil {
		return nil, inspectError(err)
	}
	defer rows.Close()
	for rows.Next() {
		m := &engine.Move{Recorded: true}
		var plan string
		if err := rows.Scan(&plan, &m.Back, &m.From, &m.Done, &m.Position, &m.Until, &m.Copied, &m.Began); err != nil {
			return nil, inspectError(err)
		}
		if err := json.Unmarshal([]byte(plan), &m.Plan); err != nil {
			return nil, fmt.Errorf("sqlmigrate: online: the plan in table %s: %w", table, err)
		}
		if slices.ContainsFunc(m.Plan.Tables, func(t engine.TableName) bool { return slices.Contains(tables, t) }) {
			return m, nil
		}
	}
	return nil, inspectError(errors.Join(rows.Err(), rows.Close()))
}

// record begins the journal. The lock keeps apart two that begin.
func record(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	plan, err := json.Marshal(m.Plan)
	if err != nil {
		return fmt.Errorf("sqlmigrate: online: %w", err)
	}
	_, err = conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+journal(m)+` (
  id text PRIMARY KEY, plan text NOT NULL, back boolean NOT NULL DEFAULT false, stage integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0, position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  began timestamptz NOT NULL)`)
	if err != nil {
		return fmt.Errorf("sqlmigrate: online: create the journal: %w", err)
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO "+journal(m)+" (id, plan, began) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
		identity(m), string(plan), time.Now())
	if err != nil {
		return fmt.Errorf("sqlmigrate: online: write the journal: %w", err)
	}
	return nil
}

// SaveMove implements [engine.Online].
func (Driver) SaveMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	result, err := conn.ExecContext(ctx, "UPDATE "+journal(m)+" SET back = $1, stage = $2, done = $3, position = $4, until = $5, copied = $6 WHERE id = $7",
		m.Back, m.From, m.Done, m.Position, m.Until, m.Copied, identity(m))
	if err != nil {
		return fmt.Errorf("sqlmigrate: online: write the journal: %w", err)
	}
	if n, err := result.RowsAffected(); err == nil && n != 1 {
		return fmt.Errorf("sqlmigrate: online: the journal %s has lost the move of table %s: restore it from a backup, or drop columns and triggers by hand", journal(m), m.Plan.Tables[0])
	}
	return nil
}

// CloseMove implements [engine.Online].
func (Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	return inTransaction(ctx, conn, func() error {
		for _, statement := range []string{
			"LOCK TABLE " + journal(m) + " IN ACCESS EXCLUSIVE MODE",
			"DELETE FROM " + journal(m) + " WHERE id = " + pgsql.Literal(identity(m)),
		} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		var others bool
		if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM "+journal(m)+")").Scan(&others); err != nil || others {
			return err
		}
		_, err := conn.ExecContext(ctx, "DROP TABLE "+journal(m))
		return err
	})
}
