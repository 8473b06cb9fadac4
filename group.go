package gormflake

import (
	"math"
	"reflect"
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

// group is the tagged columns of a model that one generator serves.
type group struct {
	gen     string // name of the generator
	source  Generator
	last    types.ID // the largest ID that the generator may make
	keys    []*column
	serials []*column

	// own is the row's only primary key if it is one of this generator: the row's
	// serial numbers are made from it.
	own *column

	// links are the relations to which the row belongs by this key, if it has
	// serial numbers: GORM replaces the key when it saves one.
	links []*column

	// plain groups have this key only, an integer in the row itself.
	plain bool
}

func groupsOf(s *schema.Schema, columns []*column) []*group {
	var groups []*group
	index := map[string]*group{}
	for _, c := range columns {
		g, ok := index[c.gen]
		if !ok {
			g = &group{gen: c.gen, source: c.source, last: math.MaxInt64}
			index[c.gen] = g
			groups = append(groups, g)
		}
		g.add(c, len(s.PrimaryFields) == 1)
	}
	for _, g := range groups {
		g.links = linksOf(s, g)
		g.plain = g.own != nil && len(g.keys) == 1 && len(g.serials) == 0 && g.own.plain()
	}
	return groups
}

func (g *group) add(c *column, single bool) {
	if c.serial != nil {
		g.serials = append(g.serials, c)
		g.last = c.last
		return
	}
	g.keys = append(g.keys, c)
	if c.primary && single {
		g.own = c
	}
}

func linksOf(s *schema.Schema, g *group) []*column {
	var links []*column
	for _, rel := range s.Relationships.BelongsTo {
		if g.linkedBy(rel) {
			links = append(links, columnOf(rel.Field))
		}
	}
	return links
}

// linkedBy reports whether the relation may replace a key of which serial
// numbers are made.
func (g *group) linkedBy(rel *schema.Relationship) bool {
	if g.own == nil || len(g.serials) == 0 || rel.Type != schema.BelongsTo {
		return false
	}
	return slices.ContainsFunc(rel.References, func(r *schema.Reference) bool { return r.ForeignKey == g.own.field })
}

// linked reports whether the row has such a relation.
func (g *group) linked(row reflect.Value) bool {
	return slices.ContainsFunc(g.links, func(c *column) bool {
		v, ok := c.find(row)
		return ok && !v.IsZero()
	})
}

// unnumbered returns the group without its serial numbers.
func (g *group) unnumbered() *group {
	rest := *g
	rest.serials = nil
	return &rest
}

// selected returns the group without the columns that a statement omits.
func (g *group) selected(s selection) *group {
	if s == nil {
		return g
	}
	rest := *g
	rest.keys = slices.DeleteFunc(slices.Clone(g.keys), s.omits)
	rest.serials = slices.DeleteFunc(slices.Clone(g.serials), s.omits)
	rest.plain = false
	// A key that is not written may be that of another row.
	if g.own != nil && s.omits(g.own) {
		rest.own = nil
	}
	return &rest
}

// needs returns how many IDs the row needs, and whether it lacks anything.
func (g *group) needs(row reflect.Value) (ids int, lacks bool) {
	for _, c := range g.keys {
		if c.unset(row) {
			ids++
		}
	}
	if !g.lacksSerial(row) {
		return ids, ids > 0
	}
	if !g.derives(row) {
		ids++
	}
	return ids, true
}

func (g *group) lacksSerial(row reflect.Value) bool {
	for _, c := range g.serials {
		if c.unset(row) {
			return true
		}
	}
	return false
}

// derives reports whether the row's serial numbers are made from its own key,
// which it has or is about to get. All of a row that are not come from one more ID.
func (g *group) derives(row reflect.Value) bool {
	return g.own != nil && (g.holds(g.own.get(row)) || g.own.unset(row))
}

// holds reports whether id has a serial number. A key of the caller's own may
// have none.
func (g *group) holds(id types.ID) bool { return id > 0 && id <= g.last }

// number gives a row the serial numbers that it lacks, after its keys. It
// returns the IDs that are left; ok is false where there was none to take.
func (g *group) number(row reflect.Value, ids []types.ID) (left []types.ID, ok bool) {
	if !g.lacksSerial(row) {
		return ids, true
	}
	id := types.ID(0)
	if g.own != nil {
		id = g.own.get(row)
	}
	if !g.holds(id) {
		if len(ids) == 0 {
			return nil, false
		}
		id, ids = ids[0], ids[1:]
	}
	for _, c := range g.serials {
		if c.unset(row) {
			v := c.reach(row)
			c.kind.target(v).SetString(c.serial.Format(id))
		}
	}
	return ids, true
}
