package pgonline

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

const oldestVersion = 140000

// PlanOnline implements [engine.Online].
func (Driver) PlanOnline(ctx context.Context, conn *sql.Conn, tables []engine.OnlineTable) (*engine.OnlinePlan, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, inspectError(err)
	}
	defer func() { _ = tx.Rollback() }()
	r, err := pgcatalog.Open(ctx, tx, inspecting)
	if err != nil {
		return nil, err
	}
	if r.Version < oldestVersion {
		return nil, fmt.Errorf("sqlmigrate: online: the server's version is %d: want PostgreSQL %d or later", r.Version/10000, oldestVersion/10000)
	}
	g, err := read(ctx, r, tables)
	if err != nil {
		return nil, err
	}
	return newPlan(r, g), nil
}

func newPlan(r pgcatalog.Reader, g *graph) *engine.OnlinePlan {
	p := &engine.OnlinePlan{Notes: notes(g)}
	g.tables = g.parentsFirst()
	p.Blockers = blockers(r, g)
	for _, t := range g.tables {
		p.Tables = append(p.Tables, engine.TableName{Schema: t.Schema, Name: t.Name})
	}
	if len(g.tables) > 0 && len(p.Blockers) == 0 {
		p.Stages = g.stages()
	}
	return p
}
