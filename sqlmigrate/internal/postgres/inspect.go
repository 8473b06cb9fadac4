package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Inspect implements [engine.Engine].
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (*engine.Result, error) {
	if err := engine.CheckServer(ctx, conn, "PostgreSQL"); err != nil {
		return nil, err
	}
	// One snapshot of the catalog; that it is read-only is a promise to DBAs.
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	r, err := pgcatalog.Open(ctx, tx, "sqlmigrate: inspect")
	if err != nil {
		return nil, err
	}
	if r.Version < oldestVersion {
		return nil, fmt.Errorf("sqlmigrate: the server's version is %d: want PostgreSQL %d or later", r.Version/10000, oldestVersion/10000)
	}
	f, err := readFacts(ctx, r, want)
	if err != nil {
		return nil, err
	}
	q, err := r.Qualify(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.complete(ctx, q); err != nil {
		return nil, err
	}
	return f.plan(r, want), nil
}

// facts are all that a plan is made of.
type facts struct {
	asked     *selection
	graph     *graph
	views     []use        // of columns by views that the plan recreates
	rewritten []expression // that do not come back as they were
	lost      restores
	checks    map[*table][]check
	findings  findings
}

// readFacts reads the graph, and finds what blocks: names are without the current
// schema, as they are displayed.
func readFacts(ctx context.Context, r pgcatalog.Reader, want engine.Request) (*facts, error) {
	asked, found, err := resolve(ctx, r, want)
	if err != nil {
		return nil, err
	}
	g, more, err := readGraph(ctx, r, asked)
	if err != nil {
		return nil, err
	}
	f := &facts{asked: asked, graph: g, findings: found}
	f.findings.add(more)
	uses, err := readUses(ctx, r, g)
	if err != nil {
		return nil, err
	}
	if want.RecreateViews {
		f.views = keepIf(uses, func(u use) bool { return u.View != 0 })
		uses = keepIf(uses, func(u use) bool { return u.View == 0 })
	}
	f.findings.add(blockTables(g, want.Ahead))
	f.findings.add(blockUses(g, uses))
	for _, find := range []func(context.Context, pgcatalog.Reader, *graph) (findings, error){
		blockPartitionKeys, blockRowTypes, blockRebuilt, noteFunctions, notePublications,
	} {
		more, err := find(ctx, r, g)
		if err != nil {
			return nil, err
		}
		f.findings.add(more)
	}
	f.rewritten, more, err = tryExpressions(ctx, r, g)
	f.findings.add(more)
	return f, err
}

// complete reads what becomes a part of statements: definitions and expressions,
// in which every name has its schema.
func (f *facts) complete(ctx context.Context, q pgcatalog.QualifiedReader) error {
	g := f.graph
	defaults, err := q.Defaults(ctx, g.nodes())
	if err != nil {
		return err
	}
	for n, value := range defaults {
		g.columns[n].value = value
	}
	if f.lost.recreated, err = readRecreated(ctx, q, g, f.rewritten); err != nil {
		return err
	}
	var found findings
	if g.views, found, err = readViews(ctx, q, g, f.views); err != nil {
		return err
	}
	f.findings.add(found)
	if f.lost.kept, err = readKept(ctx, q, g); err != nil {
		return err
	}
	sequences, err := readSequences(ctx, q, g.nodes())
	if err != nil {
		return err
	}
	f.findings.add(g.link(sequences))
	if found, err = noteSequenceFunctions(ctx, q.Reader, g); err != nil {
		return err
	}
	f.findings.add(found)
	f.checks, found, err = readChecks(ctx, q, g)
	f.findings.add(found)
	return err
}

// plan returns the phases, and what was found.
func (f *facts) plan(r pgcatalog.Reader, want engine.Request) *engine.Result {
	result := &engine.Result{}
	for _, t := range f.graph.tables {
		result.Tables = append(result.Tables, t.result(r.Schema))
	}
	add := func(phase plan.Phase, found findings) {
		f.findings.add(found)
		if len(phase.Steps) > 0 {
			result.Phases = append(result.Phases, phase)
		}
	}
	add(widen(f.graph, f.lost, r.Locks))
	add(detach(f.graph, want.Issued, r.Locks))
	add(guard(f.graph, f.checks, r.Locks))
	f.findings.add(notesOn(f.graph, r.Role, f.asked.tables, f.checks))
	if len(result.Phases) > 0 && result.Phases[0].Name == plan.Widen {
		f.findings.notes = append(f.findings.notes, notesOnWiden...)
	}
	result.Blockers, result.Notes = f.findings.blockers, f.findings.notes
	return result
}
