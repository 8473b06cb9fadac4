package sqlmigrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// A pgRecreated is what has to be dropped before a column is made narrow again, and
// then created as it was, because its expressions would not be what they were.
type pgRecreated struct{ drops, creates, attaches []string }

// recreate reads the definitions, in which names have their schemas by now.
func (p *pgInspection) recreate(ctx context.Context) error {
	roots := map[int64]*pgTable{}
	for _, t := range p.tables {
		for _, member := range t.members {
			roots[member] = t
		}
	}
	for _, t := range p.tables { // a child's other columns can be in a table of their own
		roots[t.oid] = t
	}
	seen := map[int64]bool{}
	for _, e := range p.rewritten {
		if seen[e.oid] {
			continue
		}
		seen[e.oid] = true
		read := p.recreateIndex
		if e.catalog == "pg_constraint" {
			read = p.recreateConstraint
		}
		if err := read(ctx, &roots[e.table].recreated, e.oid); err != nil {
			return err
		}
	}
	return nil
}

// recreateConstraint leaves out one that comes from a parent: that one's
// statements reach it.
func (p *pgInspection) recreateConstraint(ctx context.Context, into *pgRecreated, oid int64) error {
	var schema, table, name, definition string
	var own bool
	var comment sql.NullString
	err := p.tx.QueryRowContext(ctx, `
SELECT n.nspname, r.relname, c.conname, pg_get_constraintdef(c.oid), c.coninhcount = 0, obj_description(c.oid, 'pg_constraint')
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
WHERE c.oid = $1::bigint::oid`, oid).Scan(&schema, &table, &name, &definition, &own, &comment)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	if !own {
		return nil
	}
	target, constraint := pgName(schema, table), pgQuote(name)
	into.drops = append(into.drops, "ALTER TABLE "+target+" DROP CONSTRAINT "+constraint)
	into.creates = append(into.creates, "ALTER TABLE "+target+" ADD CONSTRAINT "+constraint+" "+definition)
	if comment.Valid {
		into.creates = append(into.creates, "COMMENT ON CONSTRAINT "+constraint+" ON "+target+" IS "+pgLiteral(comment.String))
	}
	return nil
}

// recreateIndex creates that of a partition by itself, to keep its name, and
// attaches it to its parent, with which it was dropped.
func (p *pgInspection) recreateIndex(ctx context.Context, into *pgRecreated, oid int64) error {
	var schema, name, table, definition, parentSchema, parent string
	var clustered bool
	var comment sql.NullString
	err := p.tx.QueryRowContext(ctx, `
SELECT n.nspname, c.relname, r.relname, pg_get_indexdef(c.oid), i.indisclustered, obj_description(c.oid, 'pg_class'),
       coalesce(pn.nspname, ''), coalesce(pc.relname, '')
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
LEFT JOIN pg_catalog.pg_class pc ON pc.oid = h.inhparent
LEFT JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
WHERE i.indexrelid = $1::bigint::oid`, oid).Scan(&schema, &name, &table, &definition, &clustered, &comment, &parentSchema, &parent)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	index := pgName(schema, name)
	if parent == "" {
		into.drops = append(into.drops, "DROP INDEX "+index)
	}
	into.creates = append(into.creates, definition)
	if comment.Valid {
		into.creates = append(into.creates, "COMMENT ON INDEX "+index+" IS "+pgLiteral(comment.String))
	}
	if clustered {
		into.creates = append(into.creates, "ALTER TABLE "+pgName(schema, table)+" CLUSTER ON "+pgQuote(name))
	}
	if err := p.indexStatistics(ctx, into, index, oid); err != nil {
		return err
	}
	if parent != "" {
		into.attaches = append(into.attaches, "ALTER INDEX "+pgName(parentSchema, parent)+" ATTACH PARTITION "+index)
	}
	return nil
}

// indexStatistics is about how much is gathered of expressions.
func (p *pgInspection) indexStatistics(ctx context.Context, into *pgRecreated, index string, oid int64) error {
	return pgEach(ctx, p.tx, `
SELECT attnum, attstattarget FROM pg_catalog.pg_attribute
WHERE attrelid = $1::bigint::oid AND attstattarget >= 0 ORDER BY attnum`, []any{oid}, func(rows *sql.Rows) error {
		var column, target int64
		if err := rows.Scan(&column, &target); err != nil {
			return err
		}
		into.creates = append(into.creates, fmt.Sprintf("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", index, column, target))
		return nil
	})
}

// around puts the statements around that which changes the type.
func (r *pgRecreated) around(alter string) []string {
	return slices.Concat(r.drops, []string{alter}, r.creates, r.attaches)
}
