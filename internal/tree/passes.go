package tree

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// countPass counts the IDs to generate, and returns an error for every reason to reject
// the tree, before Assign changes it.
type countPass struct {
	ctx    context.Context
	counts []int                  // by slot
	linked map[rowColumn]struct{} // relay columns that links will set

	// Rows may have two parents if spans overlap, or if otherParent is set. spans are the
	// slices of rows whose visits the walk does not record. otherParent is set if a
	// child's back pointer points to another row than its parent.
	spans       []span
	few         [8]span // backs spans, which saves small trees an allocation
	otherParent bool
}

// rowColumn identifies a column of a row.
type rowColumn struct {
	field   *schema.Field
	address uintptr
}

func (p *countPass) row(n *node, row reflect.Value) error {
	for i, g := range n.groups {
		if g.Observes() {
			g.Observe(row)
		}
		ids, _ := g.Needs(row)
		if n.keyMayChange && g.LacksSerial(row) {
			ids++ // a key that a link sets may have no serial number
		}
		p.counts[n.slot+i] += ids
	}
	return nil
}

func (p *countPass) link(e *edge, parent, child reflect.Value) error {
	if e.rowSize > 0 {
		p.addSpan(child.UnsafeAddr(), e.rowSize)
	}
	if len(e.backs) > 0 && !p.otherParent {
		p.noteBacks(e.backs, parent, child)
	}
	var missing *link
	references, unset := 0, 0
	for _, l := range e.links {
		if l.from == nil {
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
		if missing == nil || l.generated {
			missing = l
		}
	}
	// A part of a composite key may be zero, but not the whole key.
	if missing != nil && (missing.generated || unset == references) {
		return missing.orphanError(e)
	}
	return nil
}

func (p *countPass) checkLink(l *link, parent, child reflect.Value) error {
	if l.toRelay {
		if p.linked == nil {
			p.linked = map[rowColumn]struct{}{}
		}
		p.linked[rowColumn{l.to.Field, child.UnsafeAddr()}] = struct{}{}
	}
	if l.how == linkBySetter && !l.unset(parent) {
		return l.try(p.ctx, l.value(p.ctx, parent))
	}
	return nil
}

// available reports whether the parent's value will be set when Assign links the
// children.
func (p *countPass) available(l *link, parent reflect.Value) bool {
	if l.tagged || !l.unset(parent) {
		return true
	}
	_, ok := p.linked[rowColumn{l.from.Field, parent.UnsafeAddr()}]
	return ok
}

func (l *link) orphanError(e *edge) error {
	role := "id"
	if l.from.Field.PrimaryKey {
		role = "pk"
	}
	return fmt.Errorf("%s: %s is unset and not tagged, so %s cannot be linked: insert that row first, or tag the field with snowflake:%q",
		e.name, l.from.Name(), l.to.Name(), role)
}

// keyPass sets keys and links.
type keyPass struct {
	ctx    context.Context
	blocks []block // by slot

	keysOnly bool // leave serial numbers unset until no key changes any more
	replaced bool // a link replaced a key to which other rows may refer
}

// block contains the unused IDs that were generated for a group.
type block struct {
	rest   []types.ID
	buffer *[]types.ID // the whole buffer, to recycle
}

// generate calls the generators for the counted IDs, parents first. The caller recycles
// the blocks, even after an error.
func generate(ctx context.Context, set *model.Set, g *graph, counts []int) ([]block, error) {
	blocks := make([]block, len(counts))
	for _, n := range g.nodes {
		for i, group := range n.groups {
			buffer, err := set.Generate(ctx, group, counts[n.slot+i])
			if err != nil {
				return blocks, fmt.Errorf("model %s: %w", n.schema.Name, err)
			}
			blocks[n.slot+i] = block{rest: *buffer, buffer: buffer}
		}
	}
	return blocks, nil
}

func recycle(set *model.Set, blocks []block) {
	for _, b := range blocks {
		if b.buffer != nil {
			set.Recycle(b.buffer)
		}
	}
}

var errModified = errors.New("the tree was modified concurrently: do not share it until Assign returns")

func (p *keyPass) row(n *node, row reflect.Value) error {
	fill := (*model.Group).Fill
	if p.keysOnly {
		fill = (*model.Group).FillKeys
	}
	for i, g := range n.groups {
		b := &p.blocks[n.slot+i]
		var ok bool
		if b.rest, ok = fill(g, row, b.rest); !ok {
			return errModified
		}
	}
	return nil
}

func (p *keyPass) link(e *edge, parent, child reflect.Value) error {
	for _, l := range e.links {
		key := p.keysOnly && l.to.Field.PrimaryKey
		var before any
		if key {
			before = l.to.Content(child)
		}
		if err := l.copy(p.ctx, parent, child); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if key && before != nil && !reflect.DeepEqual(before, l.to.Content(child)) {
			p.replaced = true
		}
	}
	return nil
}
