package gormflake

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/tree"
)

// Assign gives keys to a row, a slice of rows or a whole tree of rows now,
// before any INSERT, and links them: every foreign key in the tree then holds
// the key that it refers to. Parents and children can then be inserted in two
// batches, in any order that the constraints of the database allow, or by COPY:
//
//	if err := gormflake.Assign(db, &orders); err != nil { … }
//	for i := range orders {
//		lines = append(lines, orders[i].Lines...)
//	}
//	db.Omit(clause.Associations).CreateInBatches(&orders, 500)
//	db.Omit(clause.Associations).CreateInBatches(&lines, 500)
//
// An assigned tree can also be passed to one plain Create, which keeps its keys.
//
// # Values
//
// The value is a pointer to a struct, slice or array, or a slice; the elements
// are structs or pointers to structs. Maps hold no tree and are an error, as are
// nil elements. A nil relation, and one that is a zero struct, is left as it is,
// as GORM leaves it. An empty slice needs nothing. It is an error if the model
// and its relations have no tagged field, because Assign would set no key.
//
// # Keys
//
// Assign walks has-one, has-many, belongs-to and many-to-many relations,
// including polymorphic and self-referential ones, through slices, pointers and
// embedded structs. A row that the walk meets again, for example through a
// pointer back to its parent, gets its keys once. Every tagged field that is
// unset gets a key; one that is set is kept.
//
// Assign calls a generator once per model and call, for all keys of that model
// together. It generates the keys of parents before the keys of children, unless
// the relations between the models form a cycle; within one model the keys
// follow the walk, so that a row of a tree comes before its children. With keys
// that rise over time a parent's key is therefore smaller than its children's.
//
// Assign also fills serial numbers, from the key that the row has after linking.
//
// # Links
//
// A foreign key gets the value that it refers to and loses the value that it
// held before, as in GORM when it saves the relation. This includes the type
// column of a polymorphic relation and the columns of a composite key that are
// not tagged. If a parent gets another key later, for example from an upsert, a
// second Assign links the tree again.
//
// The rows of a many-to-many relation get keys; its join rows do not exist yet
// and are left to GORM, which creates them with the relation.
//
// A foreign key cannot be linked while the key that it refers to is unset and
// not tagged, as an auto-increment key is before its INSERT. That is an error,
// because the rows would be inserted as orphans: insert the parent first, or
// pass the whole tree to Create without Assign.
//
// A row has one parent for each of its foreign keys. It is an error if two
// parents have the same child, by pointers or by slices with a common part, or if
// a child's pointer back to its parent points to another row: the error names both
// paths. Give each parent its own copy. Two structs with the same key are one
// parent, and a row of belongs-to or many-to-many relations may be shared.
//
// # Errors
//
// Assign returns an error and leaves the tree unchanged if the plugin is not
// registered, a tag is wrong, the value or one of its links is not as described
// above, or a generator fails; the generator's error is wrapped. Assign passes
// the context of db to the generator; [Skip] in it concerns create statements
// only and is ignored.
//
// Assign does not touch the database, so db may be a transaction, a session or a
// dry run. Concurrent calls are safe on different rows.
func Assign(db *gorm.DB, value any) error {
	p, err := pluginOf(db)
	if err != nil {
		return err
	}
	return tree.Assign(db, p.set, &p.graphs, value)
}
