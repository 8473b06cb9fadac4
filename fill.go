package gormflake

import (
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// fill is the create callback that runs before all others, so that user hooks
// see the keys and a failing generator opens no transaction.
func (p *Plugin) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	m := p.set.Model(stmt.Schema)
	if m.Err != nil {
		_ = db.AddError(m.Err)
		return
	}
	if len(m.Columns) == 0 || skipped(stmt.Context) {
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
	m := p.set.Model(stmt.Schema)
	if !m.KeyIsForeign || skipped(stmt.Context) {
		return
	}
	if err := p.fillDest(stmt, m, false); err != nil {
		_ = db.AddError(fmt.Errorf("gormflake: model %s: %w", stmt.Schema.Name, err))
	}
}

// fillDest leaves out, if links are to come, what depends on them.
func (p *Plugin) fillDest(stmt *gorm.Statement, m *model.Model, linksToCome bool) error {
	selected := selectKeys(stmt, m.Columns)
	if maps, ok := mapsOf(stmt.Dest); ok {
		return p.fillMaps(stmt, m, maps, selected)
	}
	rows, err := rowsOf(stmt)
	if err != nil {
		return err
	}
	for _, g := range m.Groups {
		g = g.Selected(selected)
		if linksToCome && rows.link(g) {
			g = g.WithoutSerials()
		}
		n, lack := rows.needs(g)
		if !lack {
			continue
		}
		if !rows.settable() {
			return fmt.Errorf("a tagged field is unset and cannot be written to a copy: pass a pointer: %w", gorm.ErrInvalidValue)
		}
		ids, err := p.set.Generate(stmt.Context, g, n)
		if err != nil {
			return err
		}
		if !rows.set(g, *ids) {
			return errors.New("the rows changed during the call: do not use them elsewhere meanwhile")
		}
		p.set.Recycle(ids)
	}
	return nil
}
