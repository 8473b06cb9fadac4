package tree

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// keyPass is the pass of a walk that sets keys, serial numbers and foreign keys.
type keyPass struct {
	ctx    context.Context
	blocks []block // one for each model and generator, from the index [node.firstBlock] of the model

	keysOnly bool // leave serial numbers unset until no key changes any more
	replaced bool // a link replaced a key to which other rows may refer
}

// block contains the IDs that were generated for a group and that no row has yet.
type block struct {
	unused []types.ID
	buffer *[]types.ID // the whole buffer, to recycle
}

// generate calls the generators for the counted IDs. It begins with the parents, so that these
// get smaller IDs than their children if the IDs of a generator rise. counts has the number
// of IDs of each block. The caller recycles the blocks, even after an error.
func generate(ctx context.Context, set *model.Set, g *graph, counts []int) ([]block, error) {
	blocks := make([]block, len(counts))
	for _, n := range g.nodes {
		for i, group := range n.groups {
			buffer, err := set.Generate(ctx, group, counts[n.firstBlock+i])
			if err != nil {
				return blocks, fmt.Errorf("model %s: %w", n.schema.Name, err)
			}
			blocks[n.firstBlock+i] = block{unused: *buffer, buffer: buffer}
		}
	}
	return blocks, nil
}

// recycle returns the buffers of the blocks to the set.
func recycle(set *model.Set, blocks []block) {
	for _, b := range blocks {
		if b.buffer != nil {
			set.Recycle(b.buffer)
		}
	}
}

var errModified = errors.New("the tree was modified concurrently: do not share it until Assign returns")

// visitRow sets the unset keys of the row and, unless keysOnly is set, its serial numbers. It
// takes the IDs from the blocks of the row's model.
func (p *keyPass) visitRow(n *node, row reflect.Value) error {
	fill := (*model.Group).Fill
	if p.keysOnly {
		fill = (*model.Group).FillKeys
	}
	for i, g := range n.groups {
		b := &p.blocks[n.firstBlock+i]
		var ok bool
		if b.unused, ok = fill(g, row, b.unused); !ok {
			return errModified // there are too few IDs, although the first walk counted them
		}
	}
	return nil
}

// visitLink copies the parent's values, such as Order.ID, to the child's foreign keys, such as
// Line.OrderID. If a foreign key is also a primary key of the child and gets another value,
// visitLink sets p.replaced, because other rows may have copied the old value already.
func (p *keyPass) visitLink(e *edge, parent, child reflect.Value) error {
	for _, l := range e.links {
		mayReplaceKey := p.keysOnly && l.to.Field.PrimaryKey // otherwise the walk is not repeated
		var before any
		if mayReplaceKey {
			before = l.to.Content(child)
		}
		if err := l.copy(p.ctx, parent, child); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		// Content returns nil for an unset key, which has no old value.
		if mayReplaceKey && before != nil && !reflect.DeepEqual(before, l.to.Content(child)) {
			p.replaced = true
		}
	}
	return nil
}
