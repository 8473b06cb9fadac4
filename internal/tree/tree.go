// Package tree implements Assign, which gives keys to a tree of rows in memory and links
// them.
//
// [Assign] finds or builds the graph of the models that the tree can reach ([Graphs],
// build), and then walks the tree twice, parents before children. The first walk
// (countPass) counts the IDs that each generator has to supply, and finds every reason to
// reject the tree. If it finds rows that may have two parents, another walk (claimPass)
// compares the parents. Assign then calls the generators (generate). The second walk
// (keyPass) sets keys and links. If a link may replace a key after other rows have copied
// the key, Assign repeats the second walk (repeat).
package tree

import (
	"fmt"
	"reflect"
	"sync"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// Graphs caches the graphs of one plugin. A graph has the models that a tree can reach, and
// the relations between them. The zero value is empty and ready to use, also concurrently.
type Graphs struct {
	cache sync.Map // graphKey to *graph
}

// Assign sets the unset keys and serial numbers of a tree, and its foreign keys. A tree is a
// row, or a list of rows, with the related rows in its fields, such as an Order with its
// Lines.
func Assign(db *gorm.DB, set *model.Set, graphs *Graphs, value any) error {
	tree, rowType, err := rowview.Target(value)
	if err != nil {
		return fmt.Errorf("gormflake: Assign: %w", err)
	}
	stmt := &gorm.Statement{DB: db, Context: db.Statement.Context}
	g, err := graphs.find(stmt, set, tree.Type(), rowType)
	if err != nil {
		return err
	}
	if err := assign(stmt, set, g, tree); err != nil {
		return fmt.Errorf("gormflake: Assign: %w", err)
	}
	return nil
}

// find returns the graph of trees of type treeType, for example []*Order, whose first rows
// are of type rowType, for example Order.
func (graphs *Graphs) find(stmt *gorm.Statement, set *model.Set, treeType, rowType reflect.Type) (*graph, error) {
	s, err := parse(stmt, rowType)
	if err != nil {
		return nil, err
	}
	key := graphKey{root: s, pointers: canShareRow(treeType)}
	if g, ok := graphs.cache.Load(key); ok {
		return g.(*graph), nil
	}
	g, err := build(stmt, set, key)
	if err != nil {
		return nil, err
	}
	graphs.cache.Store(key, g)
	return g, nil
}

// assign sets the keys of the tree, whose graph is g. Its first walk counts the IDs and finds
// the mistakes of the tree, so that the tree stays unchanged if it has a mistake or if a
// generator fails.
func assign(stmt *gorm.Statement, set *model.Set, g *graph, tree reflect.Value) error {
	count := &countPass{ctx: stmt.Context, counts: make([]int, g.numBlocks)}
	count.spans = count.fewSpans[:0] // saves small trees an allocation
	w := walk{graph: g, tree: tree, visited: make([]visits, len(g.nodes))}
	if err := w.run(count); err != nil {
		return err
	}
	// A row can have two parents only if the walk reached a row again, if a child points back to
	// another row than its parent, or if two slices share rows. The walk of checkParents is for
	// such trees only, because it takes time and memory.
	if w.reachedAgain || count.otherParent || overlap(count.spans) {
		if err := w.checkParents(stmt.Context); err != nil {
			return err
		}
	}
	blocks, err := generate(stmt.Context, set, g, count.counts)
	defer recycle(set, blocks)
	if err != nil {
		return err
	}
	// If keys may change while the walk links rows, repeat sets the serial numbers last.
	keys := &keyPass{ctx: stmt.Context, blocks: blocks, keysOnly: g.needsRepeat}
	if err := w.run(keys); err != nil || !g.needsRepeat {
		return err
	}
	return w.repeat(keys)
}

// repeat copies replaced keys to the rows that refer to them, and then sets the serial
// numbers. A chain of references through n models needs up to n walks.
func (w *walk) repeat(keys *keyPass) error {
	for walks := len(w.graph.nodes); walks > 0 && keys.replaced; walks-- {
		keys.replaced = false
		if err := w.run(keys); err != nil {
			return err
		}
	}
	keys.keysOnly = false
	return w.run(keys)
}
