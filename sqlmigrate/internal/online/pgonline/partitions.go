package pgonline

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Columns, CHECKs and triggers of a partitioned table also apply to its partitions. Rows
// are copied, and indexes built, for one partition after the other; the swap attaches the
// indexes to new indexes of the table. Before PostgreSQL 18, a partitioned table cannot
// have a foreign key NOT VALID, but it takes over the valid foreign keys of its
// partitions.

// placePartedIndex returns statements that attach the indexes of the partitions to the
// index i of the table, which freeIndexName has created without partitions. If i belongs
// to a constraint, they first create the constraint, and thereby its index. The storage
// parameters and the tablespace have to stand before DEFERRABLE.
func (t *table) placePartedIndex(i index) []string {
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

// checkPartitions returns a statement that makes the swap fail if partitions have been
// added or removed since the plan was made, and a step that checks the same before the
// way back begins. The query joins the planned with the present partitions; a row that
// lacks one of them is a partition that has come or gone. Both results are nil if there
// is no partitioned table.
func (g *graph) checkPartitions() (sql []string, steps []plan.OnlineStep) {
	var roots, planned []string
	for _, t := range slices.DeleteFunc(g.all(), func(t *table) bool { return !t.isPartitioned() }) {
		roots = append(roots, t.Target())
		for _, m := range t.members[1:] { // without the table itself
			planned = append(planned, m.Target())
		}
	}
	if len(roots) == 0 {
		return nil, nil
	}
	query := "(SELECT coalesce(planned, relid::regclass::text) FROM unnest(" + array(planned) + ") AS planned\n" +
		"    FULL JOIN (SELECT relid FROM unnest(" + array(roots) + ") AS root, pg_catalog.pg_partition_tree(root::regclass) WHERE level > 0) AS found\n" +
		"    ON relid = pg_catalog.to_regclass(planned) WHERE planned IS NULL OR relid IS NULL) AS strangers (name)"
	return []string{doBlock("found text;", "  SELECT string_agg(name, ', ') INTO found FROM "+query+`;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = 'sqlmigrate: partitions have come or gone since the plan was made: ' || found || ': want the same as then: undo that, or revert the move and begin again';
  END IF;
`)}, []plan.OnlineStep{{Text: "find partitions that have come or gone since the plan was made", Kind: plan.Verify, SQL: []string{"SELECT count(*) FROM " + query}, Locks: noLock}}
}

// placeConstraint returns statements that rename a prepared foreign key to its final
// name, or that add the foreign key if it could not be prepared. built returns the name
// under which it was prepared. Foreign keys to partitioned tables could not be prepared,
// because the unique index on the new columns to which they refer exists only now.
func (k *foreignKey) placeConstraint(built func(*foreignKey) string) []string {
	var sql []string
	for _, part := range k.parts {
		if k.parent.isPartitioned() {
			sql = append(sql, part.add(part.Name, current))
		} else {
			sql = append(sql, part.child.renameConstraint(built(part), part.Name))
		}
	}
	switch {
	case k.child.isPartitioned() && k.parent.isPartitioned():
		return sql // validateLate adds the key, after the keys of the partitions have been validated
	case k.child.isPartitioned(): // the keys of the partitions are valid, so the key of the table can take them over
		sql = append(sql, k.add(k.Name, current))
	}
	return append(sql, pgsql.Comment("CONSTRAINT "+pgsql.Quote(k.Name)+" ON "+k.child.Target(), k.Comment)...)
}

// validateLate returns the steps after a swap, in either direction, that validate the
// foreign keys to partitioned tables, which the swap adds without checking the rows. The
// rows satisfied the keys before the swap, so the steps do not fail.
func (g *graph) validateLate() []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, k := range g.keys {
		if !k.parent.isPartitioned() {
			continue
		}
		for _, part := range k.parts {
			for _, step := range part.steps(part.Name, current)[1:] { // without the first step, which placeConstraint has replaced
				step.Unless = part.child.goneQuery()
				steps = append(steps, step)
			}
		}
		if k.child.isPartitioned() { // the key of the table takes over the keys of its partitions
			step := k.steps(k.Name, current)[0]
			step.SQL = append(step.SQL, pgsql.Comment("CONSTRAINT "+pgsql.Quote(k.Name)+" ON "+k.child.Target(), k.Comment)...)
			step.Unless = "SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = " + pgsql.Literal(k.child.Target()) + "::regclass AND conname = " + pgsql.Literal(k.Name) + ")"
			steps = append(steps, step)
		}
	}
	return steps
}
