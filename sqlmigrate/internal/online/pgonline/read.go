package pgonline

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// read finds the tables, and what belongs to their columns. Tables stay in their
// order.
func read(ctx context.Context, r *pgcatalog.Reader, wanted []engine.OnlineTable) (*graph, error) {
	names := make([]engine.TableName, len(wanted))
	for i, want := range wanted {
		names[i] = want.Name
	}
	g := &graph{}
	for i, found := range r.Resolve(ctx, names) {
		if found == nil {
			return nil, cmp.Or(r.Err(), fmt.Errorf("sqlmigrate: online: table %s: %w", names[i], sql.ErrNoRows))
		}
		g.tables = append(g.tables, &table{Relation: found})
	}
	q := r.Qualify(ctx)
	var views []int64
	for i, t := range g.tables {
		t.readColumns(ctx, q, wanted[i].Columns)
		t.readOthers(ctx, q)
		views = append(views, q.Views(ctx, t.OID, t.numbers())...)
	}
	if len(views) > 0 {
		g.views = pgview.Read(ctx, q, views)
	}
	if query := g.stateSQL(); query != "" {
		g.state = pgcatalog.One[string](ctx, q.Reader, "what uses the columns", "SELECT "+query)
	}
	g.connect(ctx, q)
	return g, r.Err()
}

// readColumns finds those to be widened, and what gives values to them.
func (t *table) readColumns(ctx context.Context, q pgcatalog.QualifiedReader, wanted []plan.Column) {
	numbers := q.Numbers(ctx, t.OID)
	var nodes []pgcatalog.Node
	for _, c := range wanted {
		if n := numbers[c.Name]; c.To != "" && n != 0 {
			nodes = append(nodes, pgcatalog.Node{Table: t.OID, Column: n})
		}
	}
	values, sequences := q.Defaults(ctx, nodes), q.Sequences(ctx, nodes)
	for _, f := range q.Columns(ctx, nodes) {
		c := &column{Column: f, value: values[f.Node]}
		c.taken = numbers[fresh(c)] != 0 || numbers[old(c)] != 0
		for _, s := range sequences {
			if s.Owner == c.Node || slices.Contains(s.Columns, c.Node) {
				c.sequences = append(c.sequences, s)
			}
		}
		t.columns = append(t.columns, c)
	}
}

// readOthers finds what else the move has to carry over, or could break.
func (t *table) readOthers(ctx context.Context, q pgcatalog.QualifiedReader) {
	for _, i := range q.Indexes(ctx, t.OID) {
		if (index{i}).uses(t) {
			t.indexes = append(t.indexes, index{i})
		}
	}
	for _, c := range q.Checks(ctx, t.OID, t.numbers()) {
		t.checks = append(t.checks, check{Check: c})
	}
	t.recreated = q.Recreated(ctx, t.OID, t.numbers())
	t.triggers = q.Triggers(ctx, t.OID)
	t.known = q.Users(ctx, t.OID, t.numbers())
	t.dependents = q.Dependents(ctx, t.OID, t.numbers())
	t.rules = q.Rules(ctx, t.OID)
	t.publications = q.Publications(ctx, t.Relation)
}

// connect finds the foreign keys of the columns, the tables at their other ends, and
// how large all of them are.
func (g *graph) connect(ctx context.Context, q pgcatalog.QualifiedReader) {
	byOID := map[int64]*table{}
	for _, t := range g.tables {
		byOID[t.OID] = t
	}
	var others []int64
	for _, t := range g.tables {
		for _, k := range q.ForeignKeys(ctx, t.OID, t.numbers()) {
			if !slices.ContainsFunc(g.keys, func(known *foreignKey) bool { return known.OID == k.OID }) {
				g.keys = append(g.keys, &foreignKey{ForeignKey: k})
				others = append(others, k.Child, k.Parent)
			}
		}
	}
	for i, r := range q.ByOID(ctx, others) {
		if byOID[others[i]] == nil {
			byOID[others[i]] = &table{Relation: r}
		}
	}
	for _, k := range g.keys {
		k.child, k.parent = byOID[k.Child], byOID[k.Parent]
	}
	for _, s := range q.Sizes(ctx, slices.Collect(maps.Keys(byOID))) {
		if s.Root == s.OID {
			byOID[s.OID].rows, byOID[s.OID].heap = s.Rows, s.Main
		}
	}
}
