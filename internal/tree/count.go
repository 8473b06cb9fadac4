package tree

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
)

// countPass is the pass of a walk that counts the IDs to generate. It returns an error for a
// tree that Assign must reject, before Assign changes the tree. Only rows with two parents
// are left to claimPass.
type countPass struct {
	ctx          context.Context
	counts       []int                  // number of IDs of each block, by [node.firstBlock]
	linkedRelays map[rowColumn]struct{} // columns that links will set and other links read ([link.toRelay])

	// Rows may have two parents if spans overlap, or if otherParent is set. spans are the
	// address ranges of slices of structs, because two slices may share an array. otherParent
	// is set if a child's back pointer, such as Line.Order, points to another row than its
	// parent.
	spans       []span
	fewSpans    [8]span // backs spans, which saves small trees an allocation
	otherParent bool
}

// visitRow counts the IDs that the row needs from each generator. It also passes the keys that
// the row has to a generator that observes keys.
func (p *countPass) visitRow(n *node, row reflect.Value) error {
	for i, g := range n.groups {
		if g.Observes() {
			g.Observe(row)
		}
		ids, _ := g.Needs(row)
		if n.keyMayChange && g.LacksSerial(row) {
			ids++ // spare, in case a link sets a key from which no serial number can be made
		}
		p.counts[n.firstBlock+i] += ids
	}
	return nil
}

// visitLink checks that Assign can link the child to the parent, and notes whether the
// child may have another parent.
func (p *countPass) visitLink(e *edge, parent, child reflect.Value) error {
	// Note whether rows may have two parents, which claimPass then examines.
	if e.rowSize > 0 { // child is in a slice of structs
		p.addSpan(child.UnsafeAddr(), e.rowSize)
	}
	if len(e.backPointers) > 0 && !p.otherParent {
		p.noteBackPointers(e.backPointers, parent, child)
	}
	// missing is a link whose value in the parent is unset and will not be set, so that the
	// child would be an orphan. unset is the number of such links.
	var missing *link
	references, unset := 0, 0
	for _, l := range e.links {
		if l.from == nil { // a constant, which is always set
			continue
		}
		references++
		if p.available(l, parent) {
			if err := p.checkLink(l, parent, child); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			continue
		}
		unset++
		// Prefer a column that the database generates, because it is an error even if only this
		// column is unset.
		if missing == nil || l.generated {
			missing = l
		}
	}
	// A part of a composite key may be zero, unless the database will replace the zero in
	// the INSERT. The whole key may not be zero.
	if missing != nil && (missing.generated || unset == references) {
		return missing.orphanError(e)
	}
	return nil
}

// checkLink returns an error if GORM cannot convert the parent's value to the foreign key. If
// another link copies the foreign key further, checkLink records that it will be set, for
// [countPass.available].
func (p *countPass) checkLink(l *link, parent, child reflect.Value) error {
	if l.toRelay {
		if p.linkedRelays == nil {
			p.linkedRelays = map[rowColumn]struct{}{}
		}
		p.linkedRelays[rowColumn{field: l.to.Field, address: child.UnsafeAddr()}] = struct{}{}
	}
	if l.kind == linkBySetter && !l.valueUnset(parent) {
		return l.trySet(p.ctx, l.value(p.ctx, parent))
	}
	return nil
}

// available reports whether the parent's value, which link l copies, will be set when Assign
// links the child. It is set already, or it is tagged, or another link sets it.
func (p *countPass) available(l *link, parent reflect.Value) bool {
	if l.tagged || !l.valueUnset(parent) {
		return true
	}
	_, ok := p.linkedRelays[rowColumn{field: l.from.Field, address: parent.UnsafeAddr()}]
	return ok
}

// orphanError returns the error for a parent whose key is unset, so that its child cannot
// refer to it.
func (l *link) orphanError(e *edge) error {
	role := "id"
	if l.from.Field.PrimaryKey {
		role = "pk"
	}
	return fmt.Errorf("%s: %s is unset and not tagged, so %s cannot be linked: insert that row first, or tag the field with snowflake:%q",
		e.name, l.from.Name(), l.to.Name(), role)
}

// noteBackPointers notes whether a back pointer of the child, such as Line.Order, points to
// another row than its parent.
func (p *countPass) noteBackPointers(backPointers []*edge, parent, child reflect.Value) {
	for _, back := range backPointers {
		v, ok := back.field.Find(child) // a back pointer that is a struct is a copy, so another row
		if ok && !v.IsZero() && (v.Kind() != reflect.Pointer || v.Pointer() != parent.UnsafeAddr()) {
			p.otherParent = true
		}
	}
}

// span is the address range of contiguous rows.
type span struct{ start, end uintptr }

// addSpan adds a row to the spans. It extends the last span if the row follows it
// directly, so that a slice becomes one span.
func (p *countPass) addSpan(row, size uintptr) {
	if n := len(p.spans); n > 0 && p.spans[n-1].end == row {
		p.spans[n-1].end += size
		return
	}
	p.spans = append(p.spans, span{start: row, end: row + size})
}

// overlap reports whether two of the spans share rows.
func overlap(spans []span) bool {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(spans); i++ {
		if spans[i].start < spans[i-1].end {
			return true
		}
	}
	return false
}
