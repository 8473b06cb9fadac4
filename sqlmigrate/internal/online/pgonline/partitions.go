package pgonline

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Columns, CHECKs and triggers of a partitioned table also apply to its partitions. Rows
// are copied, and indexes built, for one partition after the other; the swap attaches the
// indexes to new indexes of the table. Before PostgreSQL 18, a partitioned table cannot
// have a foreign key NOT VALID, but it takes over the valid foreign keys of its
// partitions.

func (t *table) parted() bool { return t.Kind == "p" }

// gone returns a query that is true if the partition has been dropped. It returns "" for
// a table that is not a partition.
func (t *table) gone() string {
	return pgsql.If(t.Partition, "SELECT pg_catalog.to_regclass("+pgsql.Literal(t.Target())+") IS NULL")
}

func indexesOf(t *table) []index              { return t.indexes }
func checksOf(t *table) []check               { return t.checks }
func triggersOf(t *table) []pgcatalog.Trigger { return t.triggers }

// gather returns the objects of a table and of all its partitions, partitions first.
func gather[T any](t *table, list func(*table) []T) []T {
	var found []T
	for _, m := range slices.Backward(t.root.members) {
		found = append(found, list(m)...)
	}
	return found
}

// families returns the tables with columns to widen, each followed by its partitions.
func (g *graph) families() []*table {
	var all []*table
	for _, t := range g.tables {
		all = append(all, t.members...)
	}
	return all
}

// putParted returns statements that attach the indexes of the partitions to the index i
// of the table. If i belongs to a constraint, they create the constraint, and its index,
// first.
func (t *table) putParted(i index) []string {
	var sql []string
	if i.Constraint != "" {
		sql = append(sql, "ALTER TABLE ONLY "+t.Target()+" ADD CONSTRAINT "+pgsql.Quote(i.Constraint)+" "+strings.TrimSuffix(i.Clause, i.Deferral)+
			pgsql.If(i.Options != "", " WITH ("+i.Options+")")+pgsql.If(i.Space != "", " USING INDEX TABLESPACE "+pgsql.Quote(i.Space))+i.Deferral)
	}
	for _, part := range gather(t, indexesOf) {
		if part.Parent == i.OID {
			sql = append(sql, "ALTER INDEX "+pgsql.Qualified(t.Schema, i.Name)+" ATTACH PARTITION "+pgsql.Qualified(part.table.Schema, part.Name))
		}
	}
	return sql
}

// samePartitions returns a statement that makes the swap fail if partitions have been
// added or removed since the plan was made, and a step that checks the same before the
// way back begins.
func (g *graph) samePartitions() (sql []string, steps []plan.OnlineStep) {
	var roots, planned []string
	for _, t := range slices.DeleteFunc(g.all(), func(t *table) bool { return !t.parted() }) {
		roots = append(roots, t.Target())
		for _, m := range t.members[1:] {
			planned = append(planned, m.Target())
		}
	}
	if len(roots) == 0 {
		return nil, nil
	}
	query := "(SELECT coalesce(planned, relid::regclass::text) FROM unnest(" + array(planned) + ") AS planned\n" +
		"    FULL JOIN (SELECT relid FROM unnest(" + array(roots) + ") AS root, pg_catalog.pg_partition_tree(root::regclass) WHERE level > 0) AS found\n" +
		"    ON relid = pg_catalog.to_regclass(planned) WHERE planned IS NULL OR relid IS NULL) AS strangers (name)"
	return []string{block("found text;", "  SELECT string_agg(name, ', ') INTO found FROM "+query+`;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = 'sqlmigrate: partitions have come or gone since the plan was made: ' || found || ': want the same as then: undo that, or revert the move and begin again';
  END IF;
`)}, []plan.OnlineStep{{Text: "find partitions that have come or gone since the plan was made", Kind: plan.Verify, SQL: []string{"SELECT count(*) FROM " + query}, Locks: noLock}}
}

// place returns statements that rename a prepared foreign key to its final name, or that
// add the foreign key if it could not be prepared.
func (k *foreignKey) place(built func(*foreignKey) string) []string {
	var sql []string
	for _, part := range k.parts {
		if k.parent.parted() {
			sql = append(sql, part.add(part.Name, current))
		} else {
			sql = append(sql, part.child.renameConstraint(built(part), part.Name))
		}
	}
	switch {
	case k.child.parted() && k.parent.parted():
		return sql // validateLate adds the key, after the keys of the partitions have been validated
	case k.child.parted():
		sql = append(sql, k.add(k.Name, current))
	}
	return append(sql, pgsql.Comment("CONSTRAINT "+pgsql.Quote(k.Name)+" ON "+k.child.Target(), k.Comment)...)
}

// validateLate returns the steps after a swap, in either direction, that validate the
// foreign keys to partitioned tables. The rows satisfied the keys before the swap, so the
// steps do not fail.
func (g *graph) validateLate() []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, k := range g.keys {
		if !k.parent.parted() {
			continue
		}
		for _, part := range k.parts {
			for _, step := range part.steps(part.Name, current)[1:] {
				step.Unless = part.child.gone()
				steps = append(steps, step)
			}
		}
		if k.child.parted() {
			step := k.steps(k.Name, current)[0]
			step.SQL = append(step.SQL, pgsql.Comment("CONSTRAINT "+pgsql.Quote(k.Name)+" ON "+k.child.Target(), k.Comment)...)
			step.Unless = "SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = " + pgsql.Literal(k.child.Target()) + "::regclass AND conname = " + pgsql.Literal(k.Name) + ")"
			steps = append(steps, step)
		}
	}
	return steps
}
