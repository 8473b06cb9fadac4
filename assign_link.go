package gormflake

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/gormflake/gormflake/internal/model"
)

// link is one column of a relation: the foreign key to takes the value of from,
// or a constant, which is the type of a polymorphic relation.
type link struct {
	from, to *model.Column // from is nil for a constant
	constant any
	how      linkKind

	tagged    bool // from gets a key if it has none
	generated bool // the database fills from at INSERT if it is unset

	// A relay is an untagged column that is linked before it is linked to, such
	// as a foreign key within a primary key.
	fromRelay, toRelay bool
}

// linkKind says how a value gets into the foreign key.
type linkKind uint8

const (
	linkAsID     linkKind = iota // both columns are of a kind that holds IDs
	linkVerbatim                 // both columns have one type, not a pointer
	linkBySetter                 // by GORM's conversions, which may fail
)

// try sets the foreign key of a row that is thrown away.
func (l *link) try(ctx context.Context, value any) error {
	return l.set(ctx, reflect.New(l.to.Field.Schema.ModelType).Elem(), value)
}

func (l *link) set(ctx context.Context, detail reflect.Value, value any) error {
	if err := l.to.Field.Set(ctx, detail, value); err != nil {
		return fmt.Errorf("set %s: %w", l.to.Name(), err)
	}
	return nil
}

// copy links detail to master.
func (l *link) copy(ctx context.Context, master, detail reflect.Value) error {
	switch {
	case l.constant != nil:
		return l.set(ctx, detail, l.constant)
	case l.how == linkAsID:
		l.copyID(master, detail)
		return nil
	case l.how == linkVerbatim:
		value := l.from.Field.ReflectValueOf(ctx, master)
		l.to.Field.ReflectValueOf(ctx, detail).Set(value)
		return nil
	default:
		return l.set(ctx, detail, l.value(ctx, master))
	}
}

func (l *link) copyID(master, detail reflect.Value) {
	id := l.from.Get(master)
	if id == 0 && l.from.Kind.Optional() {
		if v, ok := l.to.Find(detail); ok {
			v.SetZero()
		}
		return
	}
	l.to.Set(detail, id)
}

// value returns what GORM's setter shall convert. A number is written out for a
// string, as the setter would take a named or pointed-to one for a code point.
func (l *link) value(ctx context.Context, master reflect.Value) any {
	value, _ := l.from.Field.ValueOf(ctx, master)
	if !l.to.Kind.IsString() {
		return value
	}
	switch v := reflect.Indirect(reflect.ValueOf(value)); {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	default:
		return value
	}
}

// unset reports whether the master still lacks the value to link to.
func (l *link) unset(master reflect.Value) bool {
	v, ok := l.from.Find(master)
	if l.how == linkAsID {
		return !ok || l.from.Kind.Unset(v)
	}
	return !ok || v.IsZero()
}
