package model

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// Group contains the tagged columns of a model that use the same generator. Most models
// have one group, whose only column is the primary key. Keys are the columns of IDs.
// Serials are the columns of serial numbers, which are texts that are made from IDs, such as
// PAY2022062816074010511260000.
type Group struct {
	Keys    []*Column
	Serials []*Column

	// Primary is the row's only primary key, if it is tagged and uses this generator,
	// otherwise nil. The row's serial numbers are made from it.
	Primary *Column

	// Plain reads and sets the keys without reflection. It is nil unless Primary is the only
	// column of the group, and is an integer that is reached without following a pointer.
	Plain *rowview.PlainKeys

	genName        string // name of the generator
	generator      Generator
	table          string         // of the model
	tableGenerator TableGenerator // generator, if it implements TableGenerator, else nil
	lastID         types.ID       // the largest ID that a serial number can have, MaxInt64 without Serials

	// parents are the fields of the belongs-to relations whose foreign key is Primary. GORM
	// replaces the key by the parent's key when it saves such a relation. parents is empty
	// if the group has no serial numbers, because only they depend on the key.
	parents []*Column
}

// newGroups divides the tagged columns of a model by their generators.
func newGroups(s *schema.Schema, columns []*Column) []*Group {
	var groups []*Group
	for _, c := range columns {
		i := slices.IndexFunc(groups, func(g *Group) bool { return g.genName == c.genName })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &Group{genName: c.genName, generator: c.generator, lastID: math.MaxInt64, table: s.Table})
			groups[i].tableGenerator, _ = c.generator.(TableGenerator)
		}
		groups[i].add(c, len(s.PrimaryFields) == 1)
	}
	for _, g := range groups {
		g.parents = g.parentRelations(s)
		if g.Primary != nil && len(g.Keys) == 1 && len(g.Serials) == 0 {
			g.Plain = rowview.PlainKeysOf(g.Primary.Field)
		}
	}
	return groups
}

// add adds a column to the group. onlyPrimary is set if the model has only one primary key
// column.
func (g *Group) add(c *Column, onlyPrimary bool) {
	if c.Serial != nil {
		g.Serials = append(g.Serials, c)
		g.lastID = c.lastID // the same for all serial numbers of the generator
		return
	}
	g.Keys = append(g.Keys, c)
	if c.Primary && onlyPrimary {
		g.Primary = c
	}
}

// parentRelations returns the fields of the belongs-to relations whose foreign key is the
// group's primary key, for g.parents.
func (g *Group) parentRelations(s *schema.Schema) (parents []*Column) {
	if g.Primary == nil || len(g.Serials) == 0 {
		return nil
	}
	for _, rel := range s.Relationships.BelongsTo {
		if slices.ContainsFunc(rel.References, func(r *schema.Reference) bool { return r.ForeignKey == g.Primary.Field }) {
			parents = append(parents, NewColumn(rel.Field))
		}
	}
	return parents
}

// KeyIsForeign reports whether the group has serial numbers, and its primary key is also
// the foreign key of a belongs-to relation, so that GORM may replace it by the key of a
// parent. It is false for a group without serial numbers, even if its key is a foreign key.
func (g *Group) KeyIsForeign() bool { return len(g.parents) > 0 }

// HasParent reports whether the row has a parent whose key will replace the row's key
// when GORM saves the parent.
func (g *Group) HasParent(row reflect.Value) bool {
	return slices.ContainsFunc(g.parents, func(c *Column) bool {
		v, ok := c.Find(row)
		return ok && !v.IsZero()
	})
}

// WithoutSerials returns a copy of the group without its serial numbers.
func (g *Group) WithoutSerials() *Group {
	group := *g
	group.Serials = nil
	return &group
}

// Selected returns the group without the columns that the statement omits. It returns the
// group itself if s is nil, which means that the statement has neither Select nor Omit.
func (g *Group) Selected(s Selection) *Group {
	if s == nil {
		return g
	}
	group := *g
	group.Keys = slices.DeleteFunc(slices.Clone(g.Keys), s.Omits)
	group.Serials = slices.DeleteFunc(slices.Clone(g.Serials), s.Omits)
	group.Plain = nil // because it would write the key even if the statement omits it
	// If the statement omits the key, the row gets another key than the struct, or none. So no
	// serial number is made from the key of the struct.
	if g.Primary != nil && s.Omits(g.Primary) {
		group.Primary = nil
	}
	return &group
}

// Needs returns the number of IDs that the row needs, and reports whether a key or a
// serial number of the row is unset. A row that lacks only a serial number may need no ID,
// because the serial number is made from the row's key.
func (g *Group) Needs(row reflect.Value) (ids int, lacks bool) {
	for _, c := range g.Keys {
		if c.Unset(row) {
			ids++
		}
	}
	if !g.LacksSerial(row) {
		return ids, ids > 0
	}
	if !g.serialFromKey(row) {
		ids++
	}
	return ids, true
}

// Observes reports whether the generator is a [TableGenerator], which observes existing
// keys.
func (g *Group) Observes() bool { return g.tableGenerator != nil }

// Observe passes the keys that a row already has to the generator's method Observe. The
// caller has checked [Group.Observes].
func (g *Group) Observe(row reflect.Value) {
	for _, c := range g.Keys {
		if id := c.Get(row); id > 0 {
			g.tableGenerator.Observe(g.table, id)
		}
	}
}

// fill lets the generator set all elements of ids.
func (g *Group) fill(ctx context.Context, ids []types.ID) error {
	if g.tableGenerator != nil {
		return g.tableGenerator.FillTable(ctx, g.table, ids)
	}
	return g.generator.Fill(ctx, ids)
}

// LacksSerial reports whether a serial number of the row is unset.
func (g *Group) LacksSerial(row reflect.Value) bool {
	return slices.ContainsFunc(g.Serials, func(c *Column) bool { return c.Unset(row) })
}

// serialFromKey reports whether the row's serial numbers are made from its primary key. That
// is so if the key is [Group.Representable]. It is also so if the key is unset, because
// [Group.Fill] sets the key before the serial numbers. In the other cases, for example if the
// key is negative, the row needs one more ID, from which all its serial numbers are made.
func (g *Group) serialFromKey(row reflect.Value) bool {
	return g.Primary != nil && (g.Representable(g.Primary.Get(row)) || g.Primary.Unset(row))
}

// Representable reports whether a serial number can be made from id. A key that the caller
// set may be negative, or too large for the layout of the serial numbers.
func (g *Group) Representable(id types.ID) bool { return id > 0 && id <= g.lastID }

// Fill sets the unset keys of a row, and then its unset serial numbers. It returns the
// IDs that it did not use, or false if there are too few IDs.
func (g *Group) Fill(row reflect.Value, ids []types.ID) (rest []types.ID, ok bool) {
	if ids, ok = g.FillKeys(row, ids); !ok {
		return nil, false
	}
	return g.fillSerials(row, ids)
}

// FillKeys sets the unset keys of a row. It returns the IDs that it did not use, or false
// if there are too few IDs.
func (g *Group) FillKeys(row reflect.Value, ids []types.ID) (rest []types.ID, ok bool) {
	for _, c := range g.Keys {
		if ids, ok = c.fill(row, ids); !ok {
			return nil, false
		}
	}
	return ids, true
}

// fillSerials sets the unset serial numbers of a row. It makes them from the row's primary
// key or, if the group has no primary key or the key is not [Group.Representable], from the
// first of ids.
func (g *Group) fillSerials(row reflect.Value, ids []types.ID) (rest []types.ID, ok bool) {
	if !g.LacksSerial(row) {
		return ids, true
	}
	id := types.ID(0)
	if g.Primary != nil {
		id = g.Primary.Get(row)
	}
	if !g.Representable(id) {
		if len(ids) == 0 {
			return nil, false
		}
		id, ids = ids[0], ids[1:]
	}
	for _, c := range g.Serials {
		if c.Unset(row) {
			c.setText(row, c.Serial.Format(id))
		}
	}
	return ids, true
}

// Renumber replaces the row's serial numbers that were made from oldKey, because a hook has
// given the row another key since. It keeps a serial number that a hook or the caller has
// set.
func (g *Group) Renumber(row reflect.Value, oldKey types.ID) error {
	id := g.Primary.Get(row)
	for _, c := range g.Serials {
		if c.Unset(row) || c.Value(row) != c.Serial.Format(oldKey) { // not made from oldKey
			continue
		}
		if !g.Representable(id) {
			return fmt.Errorf("the key was set to %d after %s was made from %d, and has no serial number: want a key from 1 to %d, or set %s too",
				id.Int64(), c.Field.BindName(), oldKey.Int64(), g.lastID.Int64(), c.Field.BindName())
		}
		c.setText(row, c.Serial.Format(id))
	}
	return nil
}

// checkIDs returns an error if an ID from the generator is not positive, or is too large
// for the group's serial numbers.
func (g *Group) checkIDs(ids []types.ID) error {
	for i, id := range ids {
		if id <= 0 {
			return fmt.Errorf("generator%s: ID %d of %d is %d: want a positive one", quotedGen(g.genName), i, len(ids), id.Int64())
		}
		if id > g.lastID {
			return fmt.Errorf("generator%s: ID %d of %d is %d: want at most %d, the last of its layout", quotedGen(g.genName), i, len(ids), id.Int64(), g.lastID.Int64())
		}
	}
	return nil
}
