package gormflake

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"
)

// survey is the first pass: it counts the keys to make, and finds every reason
// to refuse the tree before anything changes.
type survey struct {
	ctx    context.Context
	counts []int // by slot
	linked map[relay]struct{}
}

// relay is a relay column of one row.
type relay struct {
	field   *schema.Field
	address uintptr
}

func (s *survey) row(n *node, row reflect.Value) error {
	for i, g := range n.groups {
		ids, _ := g.Needs(row)
		if n.rekeyed && g.LacksSerial(row) {
			ids++ // the key that comes by a link may have no serial number
		}
		s.counts[n.slot+i] += ids
	}
	return nil
}

func (s *survey) link(e *edge, master, detail reflect.Value) error {
	var missing *link
	references, unset := 0, 0
	for _, l := range e.links {
		if l.from == nil {
			continue
		}
		references++
		if s.known(l, master) {
			if err := s.accept(l, master, detail); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			continue
		}
		unset++
		if missing == nil || l.generated {
			missing = l
		}
	}
	// Part of a composite key may well be zero, but not all of it.
	if missing != nil && (missing.generated || unset == references) {
		return missing.orphan(e)
	}
	return nil
}

func (s *survey) accept(l *link, master, detail reflect.Value) error {
	if l.toRelay {
		if s.linked == nil {
			s.linked = map[relay]struct{}{}
		}
		s.linked[relay{l.to.Field, detail.UnsafeAddr()}] = struct{}{}
	}
	if l.how == linkBySetter && !l.unset(master) {
		return l.try(s.ctx, l.value(s.ctx, master))
	}
	return nil
}

// known reports whether the master's value will be there when details are linked.
func (s *survey) known(l *link, master reflect.Value) bool {
	if l.tagged || !l.unset(master) {
		return true
	}
	if !l.fromRelay {
		return false
	}
	_, ok := s.linked[relay{l.from.Field, master.UnsafeAddr()}]
	return ok
}

func (l *link) orphan(e *edge) error {
	role := "id"
	if l.from.Field.PrimaryKey {
		role = "pk"
	}
	return fmt.Errorf("%s: %s is unset and not tagged, so %s cannot be linked: insert that row first, or tag the field with snowflake:%q",
		e.name, l.from.Name(), l.to.Name(), role)
}
