package gormflake

import (
	"fmt"
	"reflect"
)

// walk goes through a tree, master first, and shows it to a pass.
type walk struct {
	pass    pass
	visited map[visit]struct{}
}

// pass is what is done on a walk. Two walks over one tree call their passes in
// the same order.
type pass interface {
	row(n *node, row reflect.Value) error             // a row, once
	link(e *edge, master, detail reflect.Value) error // two rows, after master's row and links
}

// visit names a row. The address alone would not: the first field of a struct
// has the same. The tree keeps the rows alive and in place.
type visit struct {
	node    *node
	address uintptr
}

// again readies the walk for another pass.
func (w *walk) again(p pass) {
	clear(w.visited)
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
	if n.tracked && !w.enter(visit{n, row.UnsafeAddr()}) {
		return nil
	}
	if err := w.pass.row(n, row); err != nil {
		return err
	}
	for _, e := range n.edges {
		v, ok := e.field.find(row)
		if !ok || v.IsZero() {
			continue
		}
		if err := w.members(e, row, v); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) enter(v visit) bool {
	if _, seen := w.visited[v]; seen {
		return false
	}
	if w.visited == nil {
		w.visited = map[visit]struct{}{}
	}
	w.visited[v] = struct{}{}
	return true
}
