package postgres

import (
	"context"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// addPartitioned adds the statements for an index of a partitioned table or of a partition.
// Each index is created separately, so that it keeps its own properties, and is then
// attached to the index of its parent. Only the topmost index needs a DROP, because that
// drops the indexes that are attached to it. The foreign keys that need the index are
// dropped before it, and created after it.
func (r *recreation) addPartitioned(i *index) {
	drop, create := i.statements()
	if i.Above == "" {
		r.drops = append(r.drops, drop)
	} else {
		r.attaches = append(r.attaches, "ALTER INDEX "+i.Above+" ATTACH PARTITION "+i.Target())
	}
	r.creates = append(r.creates, create)
	for _, f := range i.References {
		drop, create := dropAndAddConstraint("", f.Table, f.Name, f.Definition)
		r.drops = slices.Insert(r.drops, 0, drop)
		r.references = append(append(r.references, create), pgsql.Comment("CONSTRAINT "+f.Name+" ON "+f.Table, f.Comment)...)
		r.referringTables = append(r.referringTables, f.Of)
	}
}

// addRewritten adds the statements for the objects that have expressions. tables has the
// OIDs of the tables, parents first, and gives the order of the statements. If a table has
// the same constraint from a parent and of its own, the parent's must be dropped first.
func (r *recreation) addRewritten(objects []object, tables []int64) {
	objects = keepIf(objects, func(o object) bool { return o.common().Rewritten })
	for _, table := range tables {
		for _, o := range objects {
			if drop, create := o.statements(); o.common().Of == table {
				r.drops, r.creates = append(r.drops, drop), append(r.creates, create)
			}
		}
	}
}

// noTablespace resets the default tablespace before objects are created, because
// otherwise they would be created in the connection's default. Objects with a tablespace
// are moved there afterwards.
const noTablespace = "SET LOCAL default_tablespace = ''"

// around returns all statements of the recreation, with alter between them. The statements
// drop the objects, then run alter, which changes the types of columns, and then create the
// objects again.
func (r *recreation) around(alter string) []string {
	creates := r.creates
	if len(creates) > 0 {
		creates = append([]string{noTablespace}, creates...)
	}
	return slices.Concat(r.drops, []string{alter}, creates, r.attaches, r.references)
}

// readLost reads the properties that a change of type would lose, and adds the statements
// that restore them to the tables. PostgreSQL builds indexes, constraints and statistics
// again from their definitions, and loses the properties that are not in the definitions,
// such as comments. The statements in kept restore these after phase widen, and after it is
// taken back; they may also set a property that was not lost. The indexes of partitions are
// dropped and created separately in both directions, because PostgreSQL would create them
// from the definition of the topmost index. Objects with expressions are dropped and
// created only when the phase is taken back, because PostgreSQL would otherwise leave casts
// to bigint in the expressions.
func readLost(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) {
	indexes := readByTable[index](ctx, q, g, indexesSQL)
	constraints := readByTable[keptConstraint](ctx, q, g, constraintsSQL)
	statistics := readByTable[keptStatistics](ctx, q, g, statisticsSQL)
	for _, t := range g.tables {
		var objects []object
		for _, c := range constraints[t.OID] {
			objects = append(objects, c)
		}
		for _, i := range indexes[t.OID] {
			if i.Tree { // of a partitioned table or a partition
				t.up.addPartitioned(i)
				t.down.addPartitioned(i)
			}
			objects, t.kept = append(objects, i), append(t.kept, i.keep()...)
		}
		t.kept = append(t.kept, restoreConstraints(constraints[t.OID])...)
		for _, s := range statistics[t.OID] {
			objects, t.kept = append(objects, s), append(t.kept, s.keep()...)
		}
		t.down.addRewritten(objects, t.members)
	}
}
