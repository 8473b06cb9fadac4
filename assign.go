package gormflake

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/tree"
)

// Assign gives keys to a row, a slice of rows or a tree of related rows in memory, before
// any INSERT. It also links the rows, which means that it copies each key into the
// foreign keys that refer to it. The caller can then insert parents and children in two
// batches, in any order that the constraints of the database allow, or by PostgreSQL's
// COPY, see [CopySource]:
//
//	if err := gormflake.Assign(db, &orders); err != nil { … }
//	for i := range orders {
//		lines = append(lines, orders[i].Lines...)
//	}
//	db.Omit(clause.Associations).CreateInBatches(&orders, 500)
//	db.Omit(clause.Associations).CreateInBatches(&lines, 500)
//
// The caller can also pass an assigned tree to one plain Create, which keeps its keys.
//
// # Values
//
// The value is a pointer to a struct, slice or array, or a slice. Its elements are
// structs or pointers to structs. Assign returns an error for maps, because they hold no
// tree, and for nil elements. It skips a relation that is nil or a zero struct, as GORM
// does. An empty slice is valid. If neither the model nor its relations have a field with
// the tag snowflake, Assign returns an error, because it would set no key.
//
// # Keys
//
// Assign walks has-one, has-many, belongs-to and many-to-many relations, including
// polymorphic and self-referential relations, through slices, pointers and embedded
// structs. A row that the walk reaches twice, for example through a pointer back to its
// parent, gets its keys once. Every tagged field that is unset gets a key. A field that
// is set keeps its value.
//
// Assign calls a generator once per model and call, for all keys of that model together.
// It generates the keys of parents before the keys of children, unless the relations
// between the models form a cycle. Within one model it generates keys in the order of the
// walk, so that a parent row comes before its children. If the keys of the generator rise
// over time, a parent's key is therefore smaller than its children's keys.
//
// After linking, Assign also sets the serial numbers, which are made from the row's key.
//
// # Links
//
// Assign overwrites a foreign key with the key that it refers to, as GORM does when it
// saves the relation. This includes the type column of a polymorphic relation and the
// untagged columns of a composite key. If a parent gets another key later, for example
// from an upsert, call Assign again to link the tree again.
//
// Assign gives keys to the rows of a many-to-many relation, but not to the rows of its
// join table, because GORM creates the join rows when it saves the relation.
//
// Assign cannot link a foreign key to a key that is unset and untagged, such as an
// auto-increment key before its INSERT. It returns an error, because the foreign key would
// refer to no row. Insert the parent first, or pass the whole tree to Create without
// Assign.
//
// A row has one parent for each of its foreign keys. Assign returns an error if two
// parents share a child, by pointers or by overlapping slices, or if a child's pointer
// back to its parent points to another row. The error names both paths. Give each parent
// its own copy. Two structs with the same key count as one parent. Several rows may share
// a row of a belongs-to or many-to-many relation.
//
// # Errors
//
// Assign returns an error and leaves the tree unchanged if the plugin is not registered,
// a tag is wrong, the value or a link breaks a rule above, or a generator fails. The
// error wraps the generator's error. Assign passes the context of db to the generator. It
// ignores [Skip] in that context, because Skip concerns create statements only.
//
// Assign does not access the database, so db may be a transaction, a session or a dry
// run. Concurrent calls are safe on different rows.
func Assign(db *gorm.DB, value any) error {
	p, err := pluginOf(db)
	if err != nil {
		return err
	}
	return tree.Assign(db, p.set, &p.graphs, value)
}
