// Package postgres plans and runs the move of tables in PostgreSQL under locks. A move
// makes keys, and the columns that refer to them, wide enough for Snowflake IDs. Package
// sqlmigrate calls the methods of [Engine]; package run calls [Engine.Run] with the
// statements of a plan.
//
// A plan has up to three phases. Phase widen changes the columns to bigint. Phase detach
// removes the sequences, identities and defaults that assign keys. Phase guard adds a
// CHECK against keys of zero and below. If the database continues to assign keys, phase
// park replaces detach and guard.
//
// [Engine.Inspect] makes a plan in one direction. First, request.go looks up the
// requested tables, and connect.go reads all tables that are connected with them into the
// graph (graph.go, assign.go). Further readers find the blockers (blockers.go), the
// properties that a change of type would lose (recreate.go with a file for each kind of
// object, and views.go), the sequences that assign keys (sequence.go) and the keys that
// need a CHECK (guard.go). Then widen.go, detach.go and guard.go compute the phases
// without further queries; lock.go divides them into transactions, and reject.go has the
// checks that the statements make when they run. run.go runs the statements. trial.go
// tries keys in copies of tables (copies.go), reads the views on the copies (shown.go),
// and finds code that inserts rows (code.go).
package postgres

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// Engine implements [engine.Engine] for PostgreSQL 12 and later.
type Engine struct{}

// oldestVersion is the oldest server that the queries support, as server_version_num.
const oldestVersion = 120000

// Quote implements [engine.Engine]. It returns the name with its schema in double quotes.
func (Engine) Quote(t plan.TableName) string { return t.Quoted(`"`) }

// Absent implements [engine.Engine]. It reports whether err means that a table or its schema
// does not exist. If the schema does not exist, some statements report only the schema.
func (Engine) Absent(err error) bool {
	state := pgsql.State(err)
	return state == pgsql.UndefinedTable || state == pgsql.InvalidSchemaName
}

// Transactions implements [engine.Engine]. It returns true because PostgreSQL can roll
// back every statement of a plan, so that [Engine.Run] is one transaction.
func (Engine) Transactions() bool { return true }

// LockTimeout implements [engine.Engine]. It reports whether another session held a lock
// for too long. That includes deadlocks, because a repeated run takes its locks at
// another time.
func (Engine) LockTimeout(err error) bool {
	state := pgsql.State(err)
	return state == pgsql.LockNotAvailable || state == pgsql.DeadlockDetected
}

// Inspect implements [engine.Engine]. It returns the phases of the move of the requested
// tables, with its blockers and notes. It reads everything in one snapshot of the
// catalog. It begins again with a new snapshot if the server reports an internal error,
// because another session has then probably dropped an object during the reading.
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (*engine.Result, error) {
	if err := engine.CheckServer(ctx, conn, "PostgreSQL"); err != nil {
		return nil, err
	}
	return pgsql.Repeat(func() (*engine.Result, error) { return inspect(ctx, conn, want) })
}

// inspect reads the catalog once, and returns the result of Inspect.
func inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (*engine.Result, error) {
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	requested, err := resolve(ctx, r, want)
	if err != nil {
		return nil, err
	}
	f := readFacts(ctx, r, requested, want)
	f.complete(ctx, r.Qualify(ctx))
	if r.Err() != nil {
		return nil, r.Err()
	}
	return f.plan(r, want), nil
}

// inspecting is the beginning of the errors of Inspect, Try and Survey.
const inspecting = "sqlmigrate: inspect"

// facts collects the facts that Inspect reads, and from which it computes a plan.
type facts struct {
	requested *selection
	graph     *graph
	views     []pgcatalog.Use // uses of narrow columns by views that the plan recreates
	engine.Findings
}

// readFacts reads the graph of tables and columns that have to change together, and the
// blockers. It runs before Qualify, so that the server writes the names in messages without
// the current schema.
func readFacts(ctx context.Context, r *pgcatalog.Reader, requested *selection, want engine.Request) *facts {
	g, found := readGraph(ctx, r, requested)
	g.parks = want.Park
	f := &facts{requested: requested, graph: g, Findings: requested.findings}
	f.Add(found)
	// Extended statistics are no blocker, because PostgreSQL builds them again itself.
	// Uses returns them because an online move has to create them again.
	uses := keepIf(r.Uses(ctx, g.narrowNodes()), func(u pgcatalog.Use) bool { return u.Catalog != "pg_statistic_ext" })
	if want.RecreateViews { // then the plan drops and creates the views, so they are no blockers
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

// complete reads the definitions and expressions that become parts of statements, such as
// the defaults of columns, and adds them to the graph. It runs after Qualify, so that every
// name in them has its schema.
func (f *facts) complete(ctx context.Context, q pgcatalog.QualifiedReader) {
	g := f.graph
	for n, value := range q.Defaults(ctx, g.nodes()) {
		g.columns[n].value, g.columns[n].defaultInfo = value.Expression, value
	}
	readLost(ctx, q, g)
	var found engine.Findings
	g.views, found = readViews(ctx, q, g, f.views)
	f.Add(found)
	f.Add(g.linkSequences(readSequences(ctx, q, g.nodes())))
	if !g.parks { // phase park replaces detach, which removes sequences, and guard, which adds CHECKs
		f.Add(noteSequenceFunctions(ctx, q.Reader, g))
		f.Add(readChecks(ctx, q, g))
	}
}

// plan computes the phases from the graph, and returns those that have a step, with all
// findings. r has the properties of the server and the role.
func (f *facts) plan(r *pgcatalog.Reader, want engine.Request) *engine.Result {
	result := &engine.Result{}
	for _, t := range f.graph.tables {
		result.Tables = append(result.Tables, t.planTable(r.Schema))
	}
	// add adds the result of a function that plans a phase.
	add := func(phase plan.Phase, found engine.Findings) {
		f.Add(found)
		if len(phase.Steps) > 0 {
			result.Phases = append(result.Phases, phase)
		}
	}
	add(planWiden(f.graph, r.Locks))
	if want.Park {
		add(planPark(f.graph, r.Locks))
	} else {
		add(planDetach(f.graph, want.Issued, r.Locks))
		add(planGuard(f.graph, r.Locks))
	}
	f.Add(notesOn(f.graph, r.Role, f.requested.tables))
	if len(result.Phases) > 0 && result.Phases[0].Name == plan.Widen { // a phase without steps is not in the result
		f.Note(noteOnPrepared)
		f.Note(noteOnStatistics)
	}
	result.Findings = f.Findings
	return result
}

// planTable converts the table to the type that plans use. schema is the name of the current
// schema. If the table is in the current schema, the field Schema of the result is empty.
func (t *table) planTable(schema string) plan.Table {
	result := plan.Table{Schema: t.Schema, Name: t.Name, Rows: t.Rows, Bytes: t.Bytes, NotAnalyzed: t.NotAnalyzed}
	if t.Schema == schema {
		result.Schema = ""
	}
	for _, c := range t.columns {
		column := plan.Column{Name: c.Name, Type: c.Type, Key: c.Key, Auto: c.auto()}
		if column.Auto == "" && c.Key && !c.isReference() && c.value != "" {
			column.Auto = plan.Computed // a default with another meaning, which phase detach keeps
		}
		for _, to := range c.refers {
			column.Refers = append(column.Refers, to.relation.Display.String()+"."+to.Name)
		}
		if c.IsNarrow() {
			column.To = "bigint"
		}
		result.Columns = append(result.Columns, column)
		result.MaxKey = max(result.MaxKey, types.ID(c.keys.Largest.Int64))
	}
	return result
}
