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
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// PlanOnline implements [engine.Online]. It returns a plan with either the stages of the
// move or its blockers. It reads the catalog in one snapshot, and then creates an empty
// temporary copy of each table in a transaction of its own.
func (Driver) PlanOnline(ctx context.Context, conn *sql.Conn, tables []plan.Table) (*engine.OnlinePlan, error) {
	return pgsql.Repeat(func() (*engine.OnlinePlan, error) { return planOnline(ctx, conn, tables) })
}

// planOnline reads the catalog, and returns the plan of PlanOnline. PlanOnline calls it
// again if another session changes the catalog meanwhile.
func planOnline(ctx context.Context, conn *sql.Conn, tables []plan.Table) (*engine.OnlinePlan, error) {
	r, err := pgcatalog.Open(ctx, conn, inspecting, oldestVersion)
	if err != nil {
		return nil, err
	}
	g, err := readGraph(ctx, r, tables)
	r.Close()
	if err != nil {
		return nil, err
	}
	for _, t := range g.families() { // all tables with columns to widen, and their partitions
		// Read the CHECKs and indexes that the new columns will get, from a temporary copy of
		// the table.
		if err := t.readDefinitions(ctx, conn); err != nil {
			return nil, err
		}
	}
	p := &engine.OnlinePlan{Notes: notes(g)}
	g.tables = g.parentsFirst()
	p.Blockers = blockers(r, g) // r is closed, but its fields can still be read
	for _, t := range g.tables {
		p.Tables = append(p.Tables, plan.TableName{Schema: t.Schema, Name: t.Name})
	}
	if len(g.tables) > 0 && len(p.Blockers) == 0 { // a plan with blockers has no stages
		p.Stages = g.stages()
	}
	return p, nil
}

// readGraph reads the wanted tables from the catalog, with their partitions, the columns to
// widen, the objects that use these columns, and the tables on the other side of their
// foreign keys. The tables of the result have the order of wanted, of which readGraph uses
// only the names and the columns. r keeps the first error, which readGraph returns at the
// end.
func readGraph(ctx context.Context, r *pgcatalog.Reader, wanted []plan.Table) (*graph, error) {
	names := make([]plan.TableName, len(wanted))
	for i, want := range wanted {
		names[i] = plan.TableName{Schema: want.Schema, Name: want.Name}
	}
	g := &graph{}
	for i, found := range r.Resolve(ctx, names) {
		if found == nil {
			return nil, cmp.Or(r.Err(), fmt.Errorf("sqlmigrate: online: table %s: %w", names[i], sql.ErrNoRows))
		}
		g.tables = append(g.tables, &table{Relation: found})
	}
	q := r.Qualify(ctx) // q reads texts with the schema of every object, because they become parts of statements
	var views []int64   // the OIDs of the views that use the columns
	for i, root := range g.tables {
		root.readMembers(ctx, q)
		for _, t := range root.members {
			t.readColumns(ctx, q, wanted[i].Columns)
			t.readOthers(ctx, q)
			for _, u := range t.uses {
				if u.View != 0 {
					views = engine.AppendNew(views, u.View)
				}
			}
		}
	}
	if len(views) > 0 {
		g.views = pgview.Read(ctx, q, views)
	}
	// Store a hash of the definitions of the objects, such as views, that the swap of the
	// columns drops and creates again. The swap computes the hash again, and fails if the
	// two hashes differ, because the swap would create a changed view without the change.
	if query := g.stateSQL(); query != "" {
		g.state = pgcatalog.One[string](ctx, q.Reader, "what uses the columns", "SELECT "+query)
	}
	g.readForeignKeys(ctx, q)
	return g, r.Err()
}

// readMembers reads the partitions of t on all levels, and sets t.root and t.members. It
// leaves out tables that inherit from t and are not partitions, because findings.table
// blocks the move of t if there are any.
func (t *table) readMembers(ctx context.Context, q pgcatalog.QualifiedReader) {
	t.root, t.members = t, []*table{t}
	var oids []int64
	for _, s := range q.Sizes(ctx, []int64{t.OID}) { // Sizes lists t and all tables below it, parents first
		oids = append(oids, s.OID)
	}
	for _, r := range q.ByOID(ctx, oids) {
		if r != nil && r.Partition && r.OID != t.OID {
			t.members = append(t.members, &table{Relation: r, root: t})
		}
	}
}

// readColumns reads the columns to widen, which are the columns in wanted that have a new
// type (To), their defaults and sequences, and the objects that use them. For a partition,
// wanted has the columns of the partitioned table.
func (t *table) readColumns(ctx context.Context, q pgcatalog.QualifiedReader, wanted []plan.Column) {
	numbers := q.Numbers(ctx, t.OID)
	var nodes []pgcatalog.Node
	for _, c := range wanted {
		if n := numbers[c.Name]; c.To != "" && n != 0 { // the column still exists
			nodes = append(nodes, pgcatalog.Node{Table: t.OID, Column: n})
		}
	}
	t.uses = q.Uses(ctx, nodes)
	values, sequences := q.Defaults(ctx, nodes), q.Sequences(ctx, nodes)
	for _, properties := range q.Columns(ctx, nodes) {
		c := &column{ColumnProperties: properties, value: values[properties.Node].Expression}
		c.temporaryNameTaken = numbers[fresh(c)] != 0 || numbers[old(c)] != 0
		for _, s := range sequences {
			if s.Owner == c.Node || slices.Contains(s.Columns, c.Node) {
				c.sequences = append(c.sequences, s)
			}
		}
		t.columns = append(t.columns, c)
	}
}

// readOthers reads the other objects that concern the move. The move creates the indexes
// and CHECKs again for the new columns. Triggers and rules can prevent the move, and
// publications need a note. knownUsers are all objects that use the columns now, by which
// the swap notices an object that was created later.
func (t *table) readOthers(ctx context.Context, q pgcatalog.QualifiedReader) {
	for _, i := range q.Indexes(ctx, t.OID, t.numbers()) {
		t.indexes = append(t.indexes, index{i, t})
	}
	for _, c := range q.Checks(ctx, t.OID, t.numbers()) {
		t.checks = append(t.checks, check{c, t})
	}
	t.triggers = q.Triggers(ctx, t.OID)
	t.knownUsers = q.Users(ctx, t.OID, t.numbers())
	t.rules = q.Rules(ctx, t.OID)
	t.publications = q.Publications(ctx, t.Relation)
}

// readForeignKeys reads the foreign keys of the columns, the other tables of these
// foreign keys, and the sizes of all tables.
//
// A foreign key of a partitioned table, or to one, has a copy in the catalog for each
// partition. The field Whole of a copy is the OID of the foreign key of which it is a copy.
// In the graph, a copy becomes a part of the topmost foreign key if the copy belongs to a
// partition that is not itself partitioned, and refers to the same table as the topmost key.
// For example, if orders is partitioned and refers to users, the foreign key of orders has the
// foreign keys of its partitions as its parts, because these can be added one by one without
// long locks.
func (g *graph) readForeignKeys(ctx context.Context, q pgcatalog.QualifiedReader) {
	byOID := map[int64]*table{}
	for _, t := range g.families() { // the tables with columns to widen, and their partitions
		byOID[t.OID] = t
	}
	allKeys := map[int64]*foreignKey{} // all foreign keys and their copies, by OID
	var tableOIDs []int64              // the tables on both sides of the keys, possibly several times
	for _, t := range g.families() {
		for _, k := range q.ForeignKeys(ctx, t.OID, t.numbers()) {
			if allKeys[k.OID] == nil {
				allKeys[k.OID] = &foreignKey{ForeignKey: k}
				g.keys = append(g.keys, allKeys[k.OID])
				tableOIDs = append(tableOIDs, k.Child, k.Parent)
			}
		}
	}
	for i, r := range q.ByOID(ctx, tableOIDs) { // add the tables that have no column to widen
		if r != nil && byOID[tableOIDs[i]] == nil {
			t := &table{Relation: r}
			t.readMembers(ctx, q)
			for _, m := range t.members {
				byOID[m.OID] = m
			}
		}
	}
	for _, k := range g.keys {
		k.child, k.parent = byOID[k.Child], byOID[k.Parent]
		whole := k
		for allKeys[whole.Whole] != nil { // up to the topmost key, whose Whole is 0
			whole = allKeys[whole.Whole]
		}
		// The comparison of parents excludes the copies for partitions of the parent.
		// After an error of q, child and parent may be nil.
		if q.Err() == nil && k.Parent == whole.Parent && !k.child.isPartitioned() {
			whole.parts = append(whole.parts, k)
			if !k.parent.isPartitioned() { // a partitioned parent gets unique indexes on the new columns only in the swap, so its keys cannot be added earlier
				g.earlyKeys = append(g.earlyKeys, k)
			}
		}
	}
	// Remove the copies, which are in parts now if they are needed.
	g.keys = slices.DeleteFunc(g.keys, func(k *foreignKey) bool { return k.Whole != 0 })
	// For each of these tables (Root), Sizes returns its own size and those of its
	// partitions, which are added up.
	for _, s := range q.Sizes(ctx, slices.Collect(maps.Keys(byOID))) {
		byOID[s.Root].rows += s.Rows
		byOID[s.Root].heap += s.Main
	}
}
