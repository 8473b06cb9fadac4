package tree

import (
	"fmt"
	"reflect"
)

// walk goes through a tree, parents first, and passes its rows to a pass.
type walk struct {
	pass    pass
	visited []visits // by node
}

// visits are the addresses of the rows of one shared node, which stay valid
// because the tree holds the rows. Each node has its own, because a struct and
// its first field may be two rows at one address.
type visits struct {
	rows map[uintptr]struct{}
	last uintptr // most rows met again are the parent of the previous row
}

// pass is what a walk does to the rows. Two walks over one tree call their passes
// in the same order.
type pass interface {
	row(n *node, row reflect.Value) error            // a row, once
	link(e *edge, parent, child reflect.Value) error // two rows, after the parent's row and links
}

// restart prepares the walk for another pass.
func (w *walk) restart(p pass) {
	for i := range w.visited {
		clear(w.visited[i].rows)
		w.visited[i].last = 0
	}
	w.pass = p
}

// rows walks the rows that relation e of owner holds in v.
func (w *walk) rows(e *edge, owner, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return w.rows(e, owner, v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			elem := v.Index(i)
			if elem.Kind() == reflect.Pointer && elem.IsNil() {
				return fmt.Errorf("%s: element %d is nil: remove it", e.name, i)
			}
			if err := w.rows(e, owner, elem); err != nil {
				return err
			}
		}
		return nil
	default:
		return w.related(e, owner, v)
	}
}

func (w *walk) related(e *edge, owner, row reflect.Value) error {
	if e.belongsTo {
		if err := w.row(e.target, row); err != nil {
			return err
		}
		return w.pass.link(e, row, owner)
	}
	if len(e.links) > 0 {
		if err := w.pass.link(e, owner, row); err != nil {
			return err
		}
	}
	return w.row(e.target, row)
}

func (w *walk) row(n *node, row reflect.Value) error {
	if n.shared && !w.visited[n.index].add(row.UnsafeAddr()) {
		return nil
	}
	if err := w.pass.row(n, row); err != nil {
		return err
	}
	for _, e := range n.edges {
		v, ok := e.field.Find(row)
		if !ok || v.IsZero() {
			continue
		}
		if err := w.rows(e, row, v); err != nil {
			return err
		}
	}
	return nil
}

// add records a row and reports whether it is new.
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
