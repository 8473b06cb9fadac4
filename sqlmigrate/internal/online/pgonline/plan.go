package pgonline

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

const oldestVersion = 140000

// PlanOnline implements [engine.Online].
func (Driver) PlanOnline(ctx context.Context, conn *sql.Conn, tables []engine.OnlineTable) (*engine.OnlinePlan, error) {
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	g, err := read(ctx, r, tables)
	r.Close()
	if err != nil {
		return nil, err
	}
	for _, t := range g.families() {
		if err := t.rewrite(ctx, conn); err != nil {
			return nil, err
		}
	}
	p := &engine.OnlinePlan{Notes: notes(g)}
	g.tables = g.parentsFirst()
	p.Blockers = blockers(r, g)
	for _, t := range g.tables {
		p.Tables = append(p.Tables, engine.TableName{Schema: t.Schema, Name: t.Name})
	}
	if len(g.tables) > 0 && len(p.Blockers) == 0 {
		p.Stages = g.stages()
	}
	return p, nil
}
