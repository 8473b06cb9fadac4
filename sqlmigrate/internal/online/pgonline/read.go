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
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// read finds the tables, and what belongs to their columns. Tables stay in their
// order.
func read(ctx context.Context, r pgcatalog.Reader, wanted []engine.OnlineTable) (*graph, error) {
	names := make([]engine.TableName, len(wanted))
	for i, want := range wanted {
		names[i] = want.Name
	}
	relations, err := r.Resolve(ctx, names)
	if err != nil {
		return nil, err
	}
	g := &graph{}
	for i, found := range relations {
		if found == nil {
			return nil, fmt.Errorf("sqlmigrate: online: table %s: %w", names[i], sql.ErrNoRows)
		}
		g.tables = append(g.tables, &table{Relation: found})
	}
	q, err := r.Qualify(ctx)
	if err != nil {
		return nil, err
	}
	for i, t := range g.tables {
		if err := t.readColumns(ctx, q, wanted[i].Columns); err != nil {
			return nil, err
		}
		if err := t.readOthers(ctx, q); err != nil {
			return nil, err
		}
	}
	return g, g.connect(ctx, q)
}

// readColumns finds those to be widened, and what gives values to them.
func (t *table) readColumns(ctx context.Context, q pgcatalog.QualifiedReader, wanted []plan.Column) error {
	numbers, err := q.Numbers(ctx, t.OID)
	if err != nil {
		return err
	}
	var nodes []pgcatalog.Node
	for _, c := range wanted {
		if n := numbers[c.Name]; c.To != "" && n != 0 {
			nodes = append(nodes, pgcatalog.Node{Table: t.OID, Column: n})
		}
	}
	found, failed := q.Columns(ctx, nodes)
	values, err := q.Defaults(ctx, nodes)
	sequences, late := q.Sequences(ctx, nodes)
	for _, f := range found {
		c := &column{Column: f, value: values[f.Node]}
		c.taken = numbers[fresh(c)] != 0 || numbers[old(c)] != 0
		for _, s := range sequences {
			if s.Owner == c.Node || slices.Contains(s.Columns, c.Node) {
				c.sequences = append(c.sequences, s)
			}
		}
		t.columns = append(t.columns, c)
	}
	return cmp.Or(failed, err, late)
}

// readOthers finds what else the move has to carry over, or could break. The first
// error is returned: those of later queries only follow from it.
func (t *table) readOthers(ctx context.Context, q pgcatalog.QualifiedReader) error {
	var errs [6]error
	indexes, err := q.Indexes(ctx, t.OID)
	errs[0] = err
	for _, i := range indexes {
		if (index{i}).uses(t) {
			t.indexes = append(t.indexes, index{i})
		}
	}
	t.triggers, errs[1] = q.Triggers(ctx, t.OID)
	t.known, errs[2] = q.Users(ctx, t.OID, t.numbers())
	t.dependents, errs[3] = q.Dependents(ctx, t.OID, t.numbers())
	t.rules, errs[4] = q.Rules(ctx, t.OID)
	t.publications, errs[5] = q.Publications(ctx, t.Relation)
	return cmp.Or(errs[:]...)
}

// connect finds the foreign keys of the columns, the tables at their other ends, and
// how large all of them are.
func (g *graph) connect(ctx context.Context, q pgcatalog.QualifiedReader) error {
	var oids []int64
	byOID := map[int64]*table{}
	for _, t := range g.tables {
		oids, byOID[t.OID] = append(oids, t.OID), t
	}
	for _, t := range g.tables {
		found, err := q.ForeignKeys(ctx, t.OID, t.numbers())
		if err != nil {
			return err
		}
		for _, k := range found {
			if !slices.ContainsFunc(g.keys, func(known *foreignKey) bool { return known.OID == k.OID }) {
				g.keys = append(g.keys, &foreignKey{ForeignKey: k})
				oids = append(oids, k.Child, k.Parent)
			}
		}
	}
	relations, err := q.ByOID(ctx, oids)
	for _, r := range relations {
		if byOID[r.OID] == nil {
			byOID[r.OID] = &table{Relation: r}
		}
	}
	for _, k := range g.keys {
		k.child, k.parent = byOID[k.Child], byOID[k.Parent]
	}
	sizes, late := q.Sizes(ctx, slices.Collect(maps.Keys(byOID)))
	for _, s := range sizes {
		if s.Root == s.OID {
			byOID[s.OID].rows, byOID[s.OID].heap = s.Rows, s.Main
		}
	}
	return cmp.Or(err, late)
}
