package pgonline

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// PlanOnline implements [engine.Online].
func (Driver) PlanOnline(ctx context.Context, conn *sql.Conn, tables []engine.OnlineTable) (*engine.OnlinePlan, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, inspectError(err)
	}
	defer func() { _ = tx.Rollback() }()
	p := &inspection{tx: tx, byOID: map[int64]*table{}}
	if err := p.run(ctx, tables); err != nil {
		return nil, err
	}
	plan := &engine.OnlinePlan{Blockers: p.blockers, Notes: p.notes}
	for _, t := range p.tables {
		plan.Tables = append(plan.Tables, engine.TableName{Schema: t.schema, Name: t.name})
	}
	if len(p.tables) > 0 && len(p.blockers) == 0 {
		plan.Stages = p.stages()
	}
	return plan, nil
}

func (p *inspection) run(ctx context.Context, tables []engine.OnlineTable) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	for _, want := range tables {
		t, err := p.resolve(ctx, want.Name)
		if err != nil {
			return err
		}
		p.tables = append(p.tables, t)
	}
	// From here on the server writes the schema of every name.
	if _, err := p.tx.ExecContext(ctx, "SET LOCAL search_path = ''"); err != nil {
		return inspectError(err)
	}
	for i, t := range p.tables {
		var names []string
		for _, c := range tables[i].Columns {
			if c.To != "" {
				names = append(names, c.Name)
			}
		}
		if err := p.read(ctx, t, names); err != nil {
			return err
		}
	}
	p.parentsFirst()
	return p.findBlockers(ctx)
}

func (p *inspection) read(ctx context.Context, t *table, names []string) error {
	if err := p.describe(ctx, t, names); err != nil {
		return err
	}
	for _, c := range t.columns {
		if err := p.readSequences(ctx, t, c); err != nil {
			return err
		}
	}
	for _, read := range []func(context.Context, *table) error{
		p.occupied, p.readIndexes, p.readForeignKeys, p.readTriggers, p.readKnown, p.notePublications,
	} {
		if err := read(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// readKnown finds all that uses the columns, for the swap to compare with.
func (p *inspection) readKnown(ctx context.Context, t *table) error {
	var list string
	err := p.tx.QueryRowContext(ctx, `
SELECT coalesce(json_agg(DISTINCT pg_describe_object(classid, objid, objsubid)), '[]')::text FROM pg_catalog.pg_depend
WHERE refclassid = 'pg_catalog.pg_class'::regclass AND refobjid = $1::bigint::oid AND refobjsubid = ANY ($2::text::int2[])`,
		t.oid, t.numbers()).Scan(&list)
	if err != nil {
		return inspectError(err)
	}
	return inspectError(json.Unmarshal([]byte(list), &t.known))
}

// parentsFirst puts a table after those that it refers to. Tables that refer to
// each other stay in the order of their names.
func (p *inspection) parentsFirst() {
	slices.SortFunc(p.tables, func(a, b *table) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.schema, b.schema)) })
	var sorted []*table
	seen := map[*table]bool{}
	var visit func(t *table)
	visit = func(t *table) {
		if seen[t] {
			return
		}
		seen[t] = true
		for _, k := range p.keys {
			if k.child == t {
				visit(k.parent)
			}
		}
		if slices.Contains(p.tables, t) {
			sorted = append(sorted, t)
		}
	}
	for _, t := range p.tables {
		visit(t)
	}
	p.tables = sorted
}
