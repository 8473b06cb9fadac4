package pgonline

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// read finds the tables, and what belongs to their columns. Tables stay in their
// order.
func read(ctx context.Context, r *pgcatalog.Reader, wanted []engine.OnlineTable) (*graph, error) {
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
	if err := g.readKeys(ctx, q); err != nil {
		return nil, err
	}
	return g, g.measure(ctx, q)
}

// readColumns finds those to be widened, and what gives values to them.
func (t *table) readColumns(ctx context.Context, q pgcatalog.QualifiedReader, wanted []engine.Column) error {
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
	uses, late := q.Sequences(ctx, nodes)
	for _, f := range found {
		c := &column{Column: f, value: values[f.Node]}
		c.taken = numbers[fresh(c)] != 0 || numbers[old(c)] != 0
		for _, u := range uses {
			if u.Node == f.Node {
				c.sequences = append(c.sequences, u.Sequence)
			}
		}
		t.columns = append(t.columns, c)
	}
	return cmp.Or(failed, err, late)
}

// readOthers finds what else the swap has to care about.
func (t *table) readOthers(ctx context.Context, q pgcatalog.QualifiedReader) error {
	var errs [6]error
	indexes, err := q.Indexes(ctx, t.OID)
	for _, i := range indexes {
		if (index{i}).uses(t) {
			t.indexes = append(t.indexes, index{i})
		}
	}
	t.triggers, errs[0] = q.Triggers(ctx, t.OID)
	t.known, errs[1] = q.Users(ctx, t.OID, t.numbers())
	t.dependents, errs[2] = q.Dependents(ctx, t.OID, t.numbers())
	t.rules, errs[3] = q.Rules(ctx, t.OID)
	t.publications, errs[4] = q.Publications(ctx, t.Relation)
	return cmp.Or(err, cmp.Or(errs[:]...))
}

// readKeys finds the foreign keys of the columns, with the tables at their other
// ends.
func (g *graph) readKeys(ctx context.Context, q pgcatalog.QualifiedReader) error {
	byOID := map[int64]*table{}
	for _, t := range g.tables {
		byOID[t.OID] = t
	}
	var others []int64
	for _, t := range g.tables {
		found, err := q.ForeignKeys(ctx, t.OID, t.numbers())
		if err != nil {
			return err
		}
		for _, k := range found {
			if !slices.ContainsFunc(g.keys, func(known *foreignKey) bool { return known.OID == k.OID }) {
				g.keys = append(g.keys, &foreignKey{ForeignKey: k})
				others = append(others, k.Child, k.Parent)
			}
		}
	}
	relations, err := q.ByOID(ctx, others)
	for i, oid := range others {
		if byOID[oid] == nil && err == nil {
			byOID[oid] = &table{Relation: relations[i]}
		}
	}
	for _, k := range g.keys {
		k.child, k.parent = byOID[k.Child], byOID[k.Parent]
	}
	return err
}

// measure is for the estimates.
func (g *graph) measure(ctx context.Context, q pgcatalog.QualifiedReader) error {
	byOID := map[int64]*table{}
	var oids []int64
	for _, t := range g.all() {
		byOID[t.OID] = t
		oids = append(oids, t.OID)
	}
	sizes, err := q.Sizes(ctx, oids)
	for _, s := range sizes {
		if s.Root == s.OID {
			byOID[s.OID].rows, byOID[s.OID].heap = s.Rows, s.Main
		}
	}
	return err
}
