package postgres

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A recreated is what has to be dropped before a column changes its type, and then
// created as it was: indexes of partitions, and before a column is made narrow again
// what has expressions that would not be what they were.
type recreated struct {
	drops, creates, attaches, references []string

	referring []int64 // OIDs of the references' tables
}

// addPartitioned plans an index of a partitioned table or of a partition. It is created
// separately, to keep what is its own, and attached to its parent, with which it was
// dropped. The foreign keys that need it are dropped before, and created afterwards.
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

// An object is built again: an index, a constraint or statistics.
type object interface {
	common() Rebuilt
	statements() (drop, create string)
	keep() []string // that PostgreSQL forgets
}

// Rebuilt is what objects have in common. PostgreSQL writes expressions for a bigint,
// and then for an integer again: id % 10 becomes id::bigint % 10::bigint, which no query
// asks for.
type Rebuilt struct {
	Of        int64 // OID of the table
	Rewritten bool  // it has expressions
}

func (r Rebuilt) common() Rebuilt { return r }

// addRewritten plans the objects that are rewritten, those of parents first: a
// constraint that a table has both from a parent and of its own is dropped after its
// parent's, since it cannot be before.
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

// noTablespace comes before anything is created: the connection's would be used
// otherwise, and what has one gets it afterwards.
const noTablespace = "SET LOCAL default_tablespace = ''"

// around puts the statements around that which changes the type.
func (r *recreated) around(alter string) []string {
	creates := r.creates
	if len(creates) > 0 {
		creates = append([]string{noTablespace}, creates...)
	}
	return slices.Concat(r.drops, []string{alter}, creates, r.attaches, r.references)
}
