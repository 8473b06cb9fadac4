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

// attachIndexes returns statements of the swap that attach the new indexes of the
// partitions to the new index of the partitioned table t, so that this index becomes valid.
// i is the index of t on the old columns, whose OID shows which indexes of partitions
// belong to it. By then, the new indexes have the names that the old indexes had before the
// swap.
//
// If i belongs to a constraint, the statements first create the constraint, and thereby the new
// index. Otherwise the statements of freeIndexName have created it.
func (t *table) attachIndexes(i index) []string {
	var sql []string
	if i.Constraint != "" {
		// The syntax requires WITH and USING INDEX TABLESPACE before DEFERRABLE.
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

// checkPartitions returns, as sql, a statement that makes the swap fail if partitions have
// been added or removed since the plan was made. The reason is that the statements of the
// plan, for example for indexes, are only for the partitions of that time. steps is a step
// that checks the same before the way back begins. Both are nil if there is no partitioned
// table.
//
// The query joins the planned with the present partitions. A row in which one of them is
// NULL is a partition that was added or removed since, and the query returns its name.
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

// placeConstraint returns the statements with which the swap, or its way back, gives a
// foreign key its final name after the columns have been exchanged. An earlier step has
// added the foreign key on these columns under another name, which builtName returns, so
// that the statements only rename it. A foreign key to a partitioned table is added only
// now, because the unique index to which it refers did not exist before.
func (k *foreignKey) placeConstraint(builtName func(*foreignKey) string) []string {
	var sql []string
	for _, part := range k.parts {
		if k.parent.isPartitioned() {
			sql = append(sql, part.add(part.Name, current))
		} else {
			sql = append(sql, part.child.renameConstraint(builtName(part), part.Name))
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

// validateLate returns the last steps of the swap, and of its way back, for the foreign keys to
// partitioned tables. The swap adds the foreign keys of plain tables and of partitions NOT VALID,
// and these steps validate them. If the child is partitioned, a last step adds the foreign key of
// the table itself. The validation does not fail, because the rows satisfied the same foreign
// keys on the columns that had these names before the swap, and the values are equal.
func (g *graph) validateLate() []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, k := range g.keys {
		if !k.parent.isPartitioned() {
			continue
		}
		for _, part := range k.parts {
			for _, step := range part.steps(part.Name, current)[1:] { // without the first step, which placeConstraint has replaced
				step.Unless = part.child.goneQuery() // the partition has been dropped since the swap
				steps = append(steps, step)
			}
		}
		if k.child.isPartitioned() {
			// Use only the first step, which adds the foreign key of the table. This
			// foreign key needs no validation, because it takes over the foreign keys of
			// the partitions, which are valid by then.
			step := k.steps(k.Name, current)[0]
			step.SQL = append(step.SQL, pgsql.Comment("CONSTRAINT "+pgsql.Quote(k.Name)+" ON "+k.child.Target(), k.Comment)...)
			// A step that is repeated, because the run ended before it was recorded, finds the key.
			step.Unless = "SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = " + pgsql.Literal(k.child.Target()) + "::regclass AND conname = " + pgsql.Literal(k.Name) + ")"
			steps = append(steps, step)
		}
	}
	return steps
}
