package tree

import (
	"fmt"
	"reflect"
	"strings"
)

// walk visits the rows of a tree, parents first, and calls a pass for each row, and for each
// pair of a parent and a child. A tree is a row or a list of rows, with related rows in its
// fields.
type walk struct {
	graph   *graph // the models of the tree, and their relations
	tree    reflect.Value
	pass    pass
	visited []visits // by [node.index]

	traced bool   // record the path, which only the errors of a claimPass need
	path   []step // path to the present row, if traced

	reachedAgain bool // the walk reached a row again as the child of a has-one or has-many relation
}

// step is a part of a path. It is a relation, such as .Lines, or, if edge is nil, an index of
// a list, such as [2].
type step struct {
	edge  *edge
	index int
}

// visits contains the addresses of the visited rows of a model, if the walk may reach a row
// twice ([node.shared]). The addresses stay valid because the tree holds the rows. Each model
// has its own visits, because a struct and its first field may be two rows at the same
// address.
type visits struct {
	rows map[uintptr]struct{}
	last uintptr // the row that was added last, to which pointers of its children often lead back
}

// pass is the work that a walk does for each row. All walks over a tree visit the rows in the
// same order.
type pass interface {
	// visitRow is called once for each row of the model n.
	visitRow(n *node, row reflect.Value) error
	// visitLink is called for the two rows that a relation connects, after visitRow of the
	// parent and the links from the parent's own parents.
	visitLink(e *edge, parent, child reflect.Value) error
}

// run forgets the rows that an earlier walk has visited, and walks the tree with pass p.
func (w *walk) run(p pass) error {
	for i := range w.visited {
		clear(w.visited[i].rows)
		w.visited[i].last = 0
	}
	w.pass = p
	w.path = w.path[:0]
	return w.visitRows(w.graph.root, reflect.Value{}, w.tree)
}

// enter adds a step to the path, if the walk records it. The caller calls leave after the
// step, except after an error.
func (w *walk) enter(s step) {
	if w.traced {
		w.path = append(w.path, s)
	}
}

// leave removes the last step of the path.
func (w *walk) leave() {
	if w.traced {
		w.path = w.path[:len(w.path)-1]
	}
}

// where returns a path in Go's notation, for example Order.Lines[2].
func (w *walk) where(path []step) string {
	var b strings.Builder
	b.WriteString(w.graph.root.name)
	for _, s := range path {
		if s.edge == nil {
			fmt.Fprintf(&b, "[%d]", s.index)
		} else {
			b.WriteString("." + s.edge.field.Field.BindName())
		}
	}
	return b.String()
}

// visitRows walks the rows that are in v, which is the value of relation e in the row owner.
// v is a struct, a list, or a pointer to one. For the root, v is the tree, and owner is
// invalid.
func (w *walk) visitRows(e *edge, owner, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return w.visitRows(e, owner, v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			elem := v.Index(i)
			if elem.Kind() == reflect.Pointer && elem.IsNil() {
				return fmt.Errorf("%s: element %d is nil: remove it", e.name, i)
			}
			w.enter(step{index: i})
			if err := w.visitRows(e, owner, elem); err != nil {
				return err
			}
			w.leave()
		}
		return nil
	default:
		return w.visitRelated(e, owner, v)
	}
}

// visitRelated walks one row of relation e, and links it to owner, which is the row that has
// the relation. In a belongs-to relation, row is the parent, and otherwise owner is the
// parent. The parent is visited before the link, because the link copies the parent's key. If
// the relation's foreign key cannot hold the key, visitRelated returns e.refused.
func (w *walk) visitRelated(e *edge, owner, row reflect.Value) error {
	if e.refused != nil {
		return e.refused
	}
	if e.belongsTo {
		if err := w.visitRow(e, row); err != nil {
			return err
		}
		return w.pass.visitLink(e, row, owner)
	}
	if len(e.links) > 0 { // the root and many-to-many relations have no links
		if err := w.pass.visitLink(e, owner, row); err != nil {
			return err
		}
	}
	return w.visitRow(e, row)
}

// visitRow calls the pass for a row that the walk reaches through relation from, and walks the
// relations of the row. It skips a row that the walk has visited before.
func (w *walk) visitRow(from *edge, row reflect.Value) error {
	n := from.target
	if n.shared && !w.visited[n.index].add(row.UnsafeAddr()) {
		w.reachedAgain = w.reachedAgain || from.isParent()
		return nil
	}
	if err := w.pass.visitRow(n, row); err != nil {
		return err
	}
	for _, e := range n.edges {
		v, ok := e.field.Find(row)
		if !ok || v.IsZero() {
			continue
		}
		w.enter(step{edge: e})
		if err := w.visitRows(e, row, v); err != nil {
			return err
		}
		w.leave()
	}
	return nil
}

// add records the row at the address, and reports whether it is new.
func (v *visits) add(address uintptr) bool {
	if v.last == address {
		return false
	}
	v.last = address
	if v.rows == nil {
		v.rows = map[uintptr]struct{}{}
	}
	before := len(v.rows)
	v.rows[address] = struct{}{}
	return len(v.rows) > before
}
