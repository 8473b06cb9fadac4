// Package postgres plans and runs the move of tables in PostgreSQL under locks. Package
// sqlmigrate calls the methods of [Engine]; the statements of a plan are run by Run,
// which package run calls.
//
// A plan is made in one direction, in the order of [Engine.Inspect]. First, readers over
// package pgcatalog read the requested tables and all tables that are connected with them
// (connect.go) into a graph (graph.go). Further readers find the blockers (blockers.go),
// the properties that a change of type would lose (keep.go, recreate.go, views.go), the
// sequences that assign keys (sequence.go) and the keys that need a CHECK (guard.go).
// Then widen.go, detach.go and guard.go compute the phases without further queries;
// lock.go divides them into transactions. run.go runs the statements. trial.go tries keys
// in copies of tables (copies.go), and reads the views on the copies (shown.go).
package postgres

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Engine implements [engine.Engine] for PostgreSQL 12 and later.
type Engine struct{}

const oldestVersion = 120000

// Quote implements [engine.Engine].
func (Engine) Quote(t plan.TableName) string { return t.Quoted(`"`) }

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool {
	state := pgsql.State(err)
	return state == pgsql.UndefinedTable || state == pgsql.InvalidSchemaName
}

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return true }

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool {
	state := pgsql.State(err)
	return state == pgsql.LockNotAvailable || state == pgsql.DeadlockDetected
}

// Inspect implements [engine.Engine].
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (*engine.Result, error) {
	if err := engine.CheckServer(ctx, conn, "PostgreSQL"); err != nil {
		return nil, err
	}
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	asked, err := resolve(ctx, r, want)
	if err != nil {
		return nil, err
	}
	f := readFacts(ctx, r, asked, want)
	f.complete(ctx, r.Qualify(ctx))
	if r.Err() != nil {
		return nil, r.Err()
	}
	return f.plan(r, want), nil
}

// inspecting is the beginning of errors.
const inspecting = "sqlmigrate: inspect"

// facts collects the facts from which a plan is computed.
type facts struct {
	asked *selection
	graph *graph
	views []pgcatalog.Use // uses of narrow columns by views that the plan recreates
	engine.Findings
}

// readFacts reads the graph and the blockers. It runs before Qualify, so that the server
// writes the names in messages without the current schema.
func readFacts(ctx context.Context, r *pgcatalog.Reader, asked *selection, want engine.Request) *facts {
	g, found := readGraph(ctx, r, asked)
	g.parks = want.Park
	f := &facts{asked: asked, graph: g, Findings: asked.findings}
	f.Add(found)
	uses := keepIf(r.Uses(ctx, g.narrowNodes()), func(u pgcatalog.Use) bool { return u.Catalog != "pg_statistic_ext" })
	if want.RecreateViews {
		f.views = keepIf(uses, func(u pgcatalog.Use) bool { return u.View != 0 })
		uses = keepIf(uses, func(u pgcatalog.Use) bool { return u.View == 0 })
	}
	f.Add(blockTables(g, want))
	f.Add(blockUses(g, uses))
	f.Add(blockObjects(ctx, r, g))
	f.Add(blockOrphans(ctx, r, g))
	f.Add(noteFunctions(ctx, r, g))
	f.Add(notePublications(ctx, r, g))
	return f
}

// complete reads the definitions and expressions that become parts of statements. It runs
// after Qualify, so that every name in them has its schema.
func (f *facts) complete(ctx context.Context, q pgcatalog.QualifiedReader) {
	g := f.graph
	for n, value := range q.Defaults(ctx, g.nodes()) {
		g.columns[n].value, g.columns[n].preset = value.Expression, value
	}
	readLost(ctx, q, g)
	var found engine.Findings
	g.views, found = readViews(ctx, q, g, f.views)
	f.Add(found)
	f.Add(g.link(readSequences(ctx, q, g.nodes())))
	f.Add(noteSequenceFunctions(ctx, q.Reader, g))
	if !g.parks {
		f.Add(readChecks(ctx, q, g))
	}
}

// plan computes the phases, and returns them with all findings.
func (f *facts) plan(r *pgcatalog.Reader, want engine.Request) *engine.Result {
	result := &engine.Result{}
	for _, t := range f.graph.tables {
		result.Tables = append(result.Tables, t.result(r.Schema))
	}
	add := func(phase plan.Phase, found engine.Findings) {
		f.Add(found)
		if len(phase.Steps) > 0 {
			result.Phases = append(result.Phases, phase)
		}
	}
	add(widen(f.graph, r.Locks))
	if want.Park {
		add(park(f.graph, r.Locks))
	} else {
		add(detach(f.graph, want.Issued, r.Locks))
		add(guard(f.graph, r.Locks))
	}
	f.Add(notesOn(f.graph, r.Role, f.asked.tables))
	if len(result.Phases) > 0 && result.Phases[0].Name == plan.Widen {
		f.Notes = append(f.Notes, notesOnWiden...)
	}
	result.Findings = f.Findings
	return result
}
