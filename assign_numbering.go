package gormflake

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

// numbering is the second pass: it sets keys and links.
type numbering struct {
	ctx    context.Context
	blocks []block // by slot

	keysOnly bool // serial numbers wait for the keys to settle
	replaced bool // a link replaced a key, which may have been handed on
}

// block is the unused rest of the keys that a generator made for a model.
type block struct {
	rest   []types.ID
	buffer *[]types.ID // to give back to the plugin
}

// blocks asks the generators for the counted keys, masters first. What it
// returns is to be released, also beside an error.
func (p *Plugin) blocks(stmt *gorm.Statement, g *graph, counts []int) ([]block, error) {
	blocks := make([]block, len(counts))
	for _, n := range g.nodes {
		for i, columns := range n.groups {
			buffer, err := p.set.Generate(stmt.Context, columns, counts[n.slot+i])
			if err != nil {
				return blocks, fmt.Errorf("model %s: %w", n.schema.Name, err)
			}
			blocks[n.slot+i] = block{rest: *buffer, buffer: buffer}
		}
	}
	return blocks, nil
}

func (p *Plugin) release(blocks []block) {
	for _, b := range blocks {
		if b.buffer != nil {
			p.set.Recycle(b.buffer)
		}
	}
}

var errChanged = errors.New("the tree changed during the call: do not use it elsewhere meanwhile")

func (p *numbering) row(n *node, row reflect.Value) error {
	for i, g := range n.groups {
		b := &p.blocks[n.slot+i]
		var ok bool
		for _, c := range g.Keys {
			if b.rest, ok = c.Fill(row, b.rest); !ok {
				return errChanged
			}
		}
		if p.keysOnly {
			continue
		}
		if b.rest, ok = g.FillSerials(row, b.rest); !ok {
			return errChanged
		}
	}
	return nil
}

func (p *numbering) link(e *edge, master, detail reflect.Value) error {
	for _, l := range e.links {
		key := p.keysOnly && l.to.Field.PrimaryKey
		var before any
		if key {
			before = l.to.Content(detail)
		}
		if err := l.copy(p.ctx, master, detail); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if key && before != nil && !reflect.DeepEqual(before, l.to.Content(detail)) {
			p.replaced = true
		}
	}
	return nil
}
