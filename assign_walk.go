package gormflake

import (
	"fmt"
	"reflect"
)

// walk goes through a tree, master first, and shows it to a pass.
type walk struct {
	pass    pass
	visited []visits // by node
}

// visits are the addresses of the rows of one tracked model; the tree keeps them
// in place. They are kept by model, as a struct and its first field may be two
// rows at one address.
type visits struct {
	rows map[uintptr]struct{}
	last uintptr // most rows met again are the master of the row before
}

// pass is what is done on a walk. Two walks over one tree call their passes in
// the same order.
type pass interface {
	row(n *node, row reflect.Value) error             // a row, once
	link(e *edge, master, detail reflect.Value) error // two rows, after master's row and links
}

// again readies the walk for another pass.
func (w *walk) again(p pass) {
	for i := range w.visited {
		clear(w.visited[i].rows)
		w.visited[i].last = 0
	}
	w.pass = p
}

// members walks the rows that relation e of owner holds in v.
func (w *walk) members(e *edge, owner, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return w.members(e, owner, v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			elem := v.Index(i)
			if elem.Kind() == reflect.Pointer && elem.IsNil() {
				return fmt.Errorf("%s: element %d is nil: remove it", e.name, i)
			}
			if err := w.members(e, owner, elem); err != nil {
				return err
			}
		}
		return nil
	default:
		return w.member(e, owner, v)
	}
}

func (w *walk) member(e *edge, owner, row reflect.Value) error {
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
	if n.tracked && !w.visited[n.index].enter(row.UnsafeAddr()) {
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
		if err := w.members(e, row, v); err != nil {
			return err
		}
	}
	return nil
}

// enter records a row and reports whether it is new.
func (v *visits) enter(address uintptr) bool {
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
