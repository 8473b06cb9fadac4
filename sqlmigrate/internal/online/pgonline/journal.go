package pgonline

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// journalName is a table in the schema of the first table of a move. It is there
// while one is under way.
const journalName = "sqlmigrate_online"

func journal(schema string) string { return pgsql.Qualified(schema, journalName) }

// New returns the driver.
func New() Driver {
	return Driver{engine.Journal{
		Table:   func(m *engine.Move) string { return journal(m.Plan.Tables[0].Schema) },
		Literal: pgsql.Literal,
		Began:   "(extract(epoch FROM began) * 1000000000)::bigint",
		Parts:   "columns",
	}}
}

// LoadMove implements [engine.Online].
func (d Driver) LoadMove(ctx context.Context, conn *sql.Conn, tables []engine.TableName) (*engine.Move, error) {
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
		if m, err := d.Find(ctx, r.Tx, journal.Target(), known); m != nil || err != nil {
			return m, err
		}
	}
	return nil, r.Err()
}

const journalColumns = ` (
  id text PRIMARY KEY, plan text NOT NULL, back boolean NOT NULL DEFAULT false, stage integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0, position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  rate double precision NOT NULL DEFAULT 0, waits bigint NOT NULL DEFAULT 0, steering text NOT NULL DEFAULT '{}', made text, began timestamptz NOT NULL)`

// CloseMove implements [engine.Online].
func (d Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	table := d.Table(m)
	_, err := conn.ExecContext(ctx, pgsql.Do("", "  LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE;\n"+
		"  DELETE FROM "+table+" WHERE id = "+pgsql.Literal(m.Plan.ID())+";\n"+
		"  IF NOT EXISTS (SELECT FROM "+table+") THEN\n    DROP TABLE "+table+";\n  END IF;\n"))
	return err
}
