// Package postgres is the part of package sqlmigrate that is for PostgreSQL.
package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// Engine is for PostgreSQL 12 and later.
type Engine struct{}

const oldestVersion = 120000

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
	p := &inspection{
		tx:      tx,
		want:    want,
		columns: map[node]*column{},
		plan:    &engine.Result{},
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	return p.plan, nil
}

// An inspection is the work of one call of inspect.
type inspection struct {
	tx        *sql.Tx
	want      engine.Request
	schema    string // the current one
	role      string
	version   int
	locks     int            // that the server has room for
	asked     map[int64]bool // relations
	edges     []edge         // references without a constraint
	columns   map[node]*column
	rewritten []expression // that do not come back as they were
	tables    []*table
	foreign   []foreignKey
	viewed    []viewed
	views     []*view // in the order in which they are created
	plan      *engine.Result
}

func (p *inspection) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		p.open,
		p.resolve,
		p.connect,
		p.describe,
		p.arrange,
		p.measure,
		p.refer,
		p.findBlockers,
		p.tryExpressions,
		p.noteFunctions,
		p.notePublications,
		p.qualify, // from here on
		p.defaults,
		p.recreate,
		p.findViews,
		p.keep,
		p.sequences,
		p.noteSequenceFunctions,
		p.guards,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	p.finish()
	return nil
}

func (p *inspection) open(ctx context.Context) error {
	// A policy would hide rows, and with them the largest key. To compile the
	// queries takes longer than to run them.
	err := p.tx.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::integer,
		coalesce(current_schema(), ''), current_user, set_config('row_security', 'off', true), set_config('jit', 'off', true),
		current_setting('max_locks_per_transaction')::integer * (
			SELECT sum(setting::integer) + 1 FROM pg_catalog.pg_settings WHERE name IN
			('max_connections', 'max_prepared_transactions', 'autovacuum_max_workers', 'max_worker_processes', 'max_wal_senders'))`,
	).Scan(&p.version, &p.schema, &p.role, new(string), new(string), &p.locks)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	if p.version < oldestVersion {
		return fmt.Errorf("sqlmigrate: the server's version is %d: want PostgreSQL %d or later", p.version/10000, oldestVersion/10000)
	}
	return nil
}

// qualify makes the server write the schema of every name, so that what it
// writes means the same on a connection with another search_path.
func (p *inspection) qualify(ctx context.Context) error {
	if _, err := p.tx.ExecContext(ctx, "SET LOCAL search_path = ''"); err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	return nil
}

func (p *inspection) finish() {
	for _, t := range p.tables {
		p.plan.Tables = append(p.plan.Tables, t.public(p))
	}
	for _, phase := range []engine.Phase{p.widen(), p.detach(), p.guard()} {
		phase.Transaction = true
		if len(phase.Steps) > 0 {
			p.plan.Phases = append(p.plan.Phases, phase)
		}
	}
	p.notes()
}

// display is a table's name as the plan has it in words.
func (p *inspection) display(schema, name string) string {
	if schema == p.schema {
		return name
	}
	return schema + "." + name
}

func (p *inspection) blocker(table, object, reason, fix string) {
	p.plan.Blockers = append(p.plan.Blockers, engine.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

func (p *inspection) note(format string, args ...any) {
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(format, args...))
}

// each calls f for each row of a query.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, f func(*sql.Rows) error) error {
	if err := pgsql.Each(ctx, tx, query, args, f); err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	return nil
}
