package gormflake

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
)

// Assign gives keys to a row, a slice of rows or a whole tree of them now,
// before any INSERT, and links them: every foreign key in the tree then holds
// the key that it refers to. Masters and details can so be written in two
// batches, in any order that the constraints of the database allow, or by COPY:
//
//	if err := gormflake.Assign(db, &orders); err != nil { … }
//	for i := range orders {
//		lines = append(lines, orders[i].Lines...)
//	}
//	db.Omit(clause.Associations).CreateInBatches(&orders, 500)
//	db.Omit(clause.Associations).CreateInBatches(&lines, 500)
//
// An assigned tree may as well be given to one plain Create, which keeps its keys.
//
// # Values
//
// The value is a pointer to a struct, slice or array, or a slice; the elements
// are structs or pointers to structs. Maps hold no tree and are an error, as are
// nil elements. A nil relation, and one that is a zero struct, is left as it is,
// as GORM leaves it. An empty slice needs nothing. A model from which no tagged
// field can be reached is an error, for Assign would give it no key.
//
// # Keys
//
// Assign walks has-one, has-many, belongs-to and many-to-many relations,
// polymorphic and self-referential ones too, through slices, pointers and
// embedded structs. A row met again, for example by a pointer back to its
// master, is numbered once. Each tagged field that is unset gets a key; one that
// is set is kept.
//
// A generator is asked once per model and call, for all keys of that model
// together. Masters are asked for before details, where the relations between
// the models form no circle; within one model the keys follow the walk, so that
// a row of a tree comes before its children. With keys that rise over time a
// master's key is therefore smaller than those of its details.
//
// Serial numbers are filled too, from the key that the row has in the end.
//
// # Links
//
// A foreign key gets the value that it refers to, whatever it held before: GORM
// does the same when it saves the relation. That includes the type column of a
// polymorphic relation and the columns of a composite key that are no
// snowflakes. So a tree whose master took another key, for example from an
// upsert, is linked anew by a second Assign.
//
// The rows of a many-to-many relation get keys; its join rows do not exist yet
// and are left to GORM, which makes them when it creates the relation.
//
// A foreign key cannot be linked while the key that it refers to is unset and
// not tagged, as an auto-increment key is before its INSERT. That is an error,
// for the rows would be written as orphans: insert the master first, or give the
// whole tree to Create without Assign.
//
// # Errors
//
// Assign returns an error without a change to the tree if the plugin is not
// registered, a tag is wrong, the value or one of its links is not as described
// above, or a generator fails; the generator's error is wrapped. The context of
// db is passed to the generator; [Skip] in it concerns create statements only
// and is ignored.
//
// Assign does not touch the database, so that db may be a transaction, a
// session or a dry run. It may run concurrently, but not on rows that are in
// use elsewhere.
func Assign(db *gorm.DB, value any) error {
	p, err := pluginOf(db)
	if err != nil {
		return err
	}
	tree, err := treeOf(value)
	if err != nil {
		return fmt.Errorf("gormflake: Assign: %w", err)
	}
	stmt := &gorm.Statement{DB: db, Context: db.Statement.Context}
	g, err := p.graph(stmt, tree)
	if err != nil {
		return err
	}
	if err := p.assign(stmt, g, tree); err != nil {
		return fmt.Errorf("gormflake: Assign: %w", err)
	}
	return nil
}

func (p *Plugin) assign(stmt *gorm.Statement, g *graph, tree reflect.Value) error {
	s := &survey{ctx: stmt.Context, counts: make([]int, g.slots)}
	w := walk{pass: s, visited: make([]visits, len(g.nodes))}
	if err := w.members(g.root, reflect.Value{}, tree); err != nil {
		return err
	}
	blocks, err := p.blocks(stmt, g, s.counts)
	defer p.release(blocks)
	if err != nil {
		return err
	}
	n := &numbering{ctx: stmt.Context, blocks: blocks, keysOnly: g.unsettled}
	w.again(n)
	if err := w.members(g.root, reflect.Value{}, tree); err != nil || !g.unsettled {
		return err
	}
	return w.settle(n, g, tree)
}

// settle hands replaced keys on, which takes as many walks as models hand them
// on to each other, and then makes the serial numbers.
func (w *walk) settle(n *numbering, g *graph, tree reflect.Value) error {
	for walks := len(g.nodes); walks > 0 && n.replaced; walks-- {
		n.replaced = false
		w.again(n)
		if err := w.members(g.root, reflect.Value{}, tree); err != nil {
			return err
		}
	}
	n.keysOnly = false
	w.again(n)
	return w.members(g.root, reflect.Value{}, tree)
}

// treeOf takes the pointers off value and refuses what cannot hold keys.
func treeOf(value any) (reflect.Value, error) {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer {
		return v, fmt.Errorf("got a nil %T, want a pointer to a struct or slice", value)
	}
	if !v.IsValid() || modelType(v.Type()).Kind() != reflect.Struct {
		return v, fmt.Errorf("got %T, want a pointer to a struct or slice", value)
	}
	if v.Kind() != reflect.Slice && !v.CanAddr() {
		return v, fmt.Errorf("got %T, a copy that cannot take keys, want a pointer to it", value)
	}
	return v, nil
}

// modelType takes pointers, slices and arrays off t.
func modelType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}

// throughPointer reports whether two values of type t can share one row.
func throughPointer(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() == reflect.Pointer
}
