package postgres

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A recreated holds the statements for objects that are dropped before a column changes
// its type, and created again afterwards. These are the indexes of partitions and, when a
// column is made narrow again, the objects with expressions, because PostgreSQL would
// change the expressions.
type recreated struct {
	drops, creates, attaches, references []string

	referring []int64 // OIDs of the tables of the foreign keys
}

// addPartitioned adds an index of a partitioned table or of a partition. Each index is
// created separately, which keeps its own properties, and is then attached to the index
// of its parent. Dropping the parent's index drops it too. The foreign keys that need the
// index are dropped before it, and created after it.
func (r *recreated) addPartitioned(i *index) {
	drop, create := i.statements()
	if i.Above == "" {
		r.drops = append(r.drops, drop)
	} else {
		r.attaches = append(r.attaches, "ALTER INDEX "+i.Above+" ATTACH PARTITION "+i.Target())
	}
	r.creates = append(r.creates, create)
	for _, f := range i.References {
		drop, create := ofConstraint("", f.Table, f.Name, f.Definition)
		r.drops = slices.Insert(r.drops, 0, drop)
		r.references = append(append(r.references, create), pgsql.Comment("CONSTRAINT "+f.Name+" ON "+f.Table, f.Comment)...)
		r.referring = append(r.referring, f.Of)
	}
}

// An object is an index, a constraint or statistics that PostgreSQL builds again.
type object interface {
	common() Rebuilt
	statements() (drop, create string)
	keep() []string // statements that restore the properties that PostgreSQL loses
}

// Rebuilt has the fields that all objects share. Rewritten objects are created again
// because PostgreSQL changes their expressions when a column becomes a bigint and then an
// integer again. For example, id % 10 becomes id::bigint % 10::bigint, which no longer
// matches the expressions in queries.
type Rebuilt struct {
	Of        int64 // OID of the table
	Rewritten bool  // whether it has expressions
}

func (r Rebuilt) common() Rebuilt { return r }

// addRewritten adds the objects with expressions, in the order of their tables in
// parentsFirst. If a table has a constraint both from a parent and of its own, the
// parent's must be dropped first.
func (r *recreated) addRewritten(objects []object, parentsFirst []int64) {
	objects = keepIf(objects, func(o object) bool { return o.common().Rewritten })
	for _, of := range parentsFirst {
		for _, o := range objects {
			if drop, create := o.statements(); o.common().Of == of {
				r.drops, r.creates = append(r.drops, drop), append(r.creates, create)
			}
		}
	}
}

func (i *index) statements() (drop, create string) {
	if i.Constraint != "" {
		return ofConstraint(pgsql.If(i.Tree, "ONLY "), i.table(), pgsql.Quote(i.Constraint), i.Definition)
	}
	return "DROP INDEX " + i.Target(), i.Definition
}

func (s *keptStatistics) statements() (drop, create string) {
	return "DROP STATISTICS " + pgsql.Qualified(s.Schema, s.Name), s.Definition
}

func (c *keptConstraint) statements() (drop, create string) {
	return ofConstraint("", c.table(), pgsql.Quote(c.Name), c.Definition)
}

func ofConstraint(only, table, name, definition string) (drop, create string) {
	return "ALTER TABLE " + table + " DROP CONSTRAINT " + name, "ALTER TABLE " + only + table + " ADD CONSTRAINT " + name + " " + definition
}

// noTablespace resets the default tablespace before objects are created, because
// otherwise they would be created in the connection's default. Objects with a tablespace
// are moved there afterwards.
const noTablespace = "SET LOCAL default_tablespace = ''"

// around returns the statements before alter, alter, and the statements after it.
func (r *recreated) around(alter string) []string {
	creates := r.creates
	if len(creates) > 0 {
		creates = append([]string{noTablespace}, creates...)
	}
	return slices.Concat(r.drops, []string{alter}, creates, r.attaches, r.references)
}
