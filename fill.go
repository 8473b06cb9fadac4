package gormflake

import (
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

// maxPooled bounds the buffers that the pool keeps, in IDs.
const maxPooled = 1 << 16

// fill is the create callback that runs before all others, so that user hooks
// see the keys and a failing generator opens no transaction.
func (p *Plugin) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	m := p.model(stmt.Schema)
	if m.err != nil {
		_ = db.AddError(m.err)
		return
	}
	if len(m.columns) == 0 || skipped(stmt.Context) {
		return
	}
	if err := p.fillDest(stmt, m, true); err != nil {
		_ = db.AddError(fmt.Errorf("gormflake: model %s: %w", stmt.Schema.Name, err))
		return
	}
	returnKeys(stmt, m)
}

// number is the create callback that runs just before the INSERT. It fills the
// serial numbers of rows whose keys were to come by a link.
func (p *Plugin) number(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	m := p.model(stmt.Schema)
	if !m.linked || skipped(stmt.Context) {
		return
	}
	if err := p.fillDest(stmt, m, false); err != nil {
		_ = db.AddError(fmt.Errorf("gormflake: model %s: %w", stmt.Schema.Name, err))
	}
}

// fillDest leaves out, if links are to come, what depends on them.
func (p *Plugin) fillDest(stmt *gorm.Statement, m *model, linksToCome bool) error {
	selected := selectKeys(stmt, m.columns)
	if maps, ok := mapsOf(stmt.Dest); ok {
		return p.fillMaps(stmt, m, maps, selected)
	}
	rows, err := rowsOf(stmt)
	if err != nil {
		return err
	}
	for _, g := range m.groups {
		g = g.selected(selected)
		if linksToCome && rows.link(g) {
			g = g.unnumbered()
		}
		n, lack := rows.needs(g)
		if !lack {
			continue
		}
		if !rows.settable() {
			return fmt.Errorf("a tagged field is unset and cannot be written to a copy: pass a pointer: %w", gorm.ErrInvalidValue)
		}
		ids, err := p.take(stmt, g, n)
		if err != nil {
			return err
		}
		if !rows.set(g, *ids) {
			return errors.New("the rows changed during the call: do not use them elsewhere meanwhile")
		}
		p.give(ids)
	}
	return nil
}

// take makes n IDs in a pooled buffer, to be handed back with give.
func (p *Plugin) take(stmt *gorm.Statement, g *group, n int) (*[]types.ID, error) {
	ids, _ := p.buffers.Get().(*[]types.ID)
	if ids == nil {
		ids = new([]types.ID)
	}
	if cap(*ids) < n {
		*ids = make([]types.ID, n)
	}
	*ids = (*ids)[:n]
	if n == 0 {
		return ids, nil
	}
	// A generator that leaves elements out must not yield the last statement's IDs.
	clear(*ids)
	if err := g.source.Fill(stmt.Context, *ids); err != nil {
		return nil, fmt.Errorf("generator%s: %w", quotedGen(g.gen), err)
	}
	for i, id := range *ids {
		if id <= 0 {
			return nil, fmt.Errorf("generator%s: ID %d of %d is %d, want it positive", quotedGen(g.gen), i, n, id.Int64())
		}
		if id > g.last {
			return nil, fmt.Errorf("generator%s: ID %d of %d is %d, want at most %d, the last of its layout", quotedGen(g.gen), i, n, id.Int64(), g.last.Int64())
		}
	}
	return ids, nil
}

func (p *Plugin) give(ids *[]types.ID) {
	if cap(*ids) <= maxPooled {
		p.buffers.Put(ids)
	}
}
