package tree

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// link describes a column that a relation sets. Its method copy copies the parent's column
// from, or a constant, to the child's column to. The constant is the type of a polymorphic
// relation.
type link struct {
	from, to *model.Column // from is nil for a constant
	constant any
	kind     linkKind

	tagged    bool // from is tagged, so Assign sets it if it is unset
	generated bool // from has a default, so the database sets it in the INSERT if it is unset

	fromLinked bool // another link sets from

	// toRelay is set if to is untagged and another link reads it. An example is a foreign
	// key that is part of a primary key.
	toRelay bool
}

// linkKind is the way in which a link copies its value into the foreign key.
type linkKind uint8

const (
	linkAsID     linkKind = iota // both columns are of a kind that holds IDs
	linkVerbatim                 // both columns have the same type, not a pointer
	linkBySetter                 // GORM converts the value, which may fail
)

// reference returns the link from a key to a foreign key. A tagged key has a known kind,
// because its model is a node of the graph and therefore has no error.
func reference(from, to *schema.Field) *link {
	l := &link{from: model.NewColumn(from), to: model.NewColumn(to), generated: from.HasDefaultValue, tagged: model.IsTagged(from)}
	var err error
	l.from.Kind, _ = model.KindOf(from.FieldType) // an untagged key of another type gets the zero Kind, which does not convert
	l.to.Kind, err = model.KindOf(to.FieldType)
	switch {
	case err == nil && l.from.Kind.ConvertsTo(l.to.Kind):
		l.kind = linkAsID
	case from.FieldType == to.FieldType && from.FieldType.Kind() != reflect.Pointer:
		l.kind = linkVerbatim
	default:
		l.kind = linkBySetter
	}
	return l
}

// rowColumn identifies a column of a row.
type rowColumn struct {
	field   *schema.Field
	address uintptr
}

// trySet returns the error of setting the foreign key to value, without changing a row of
// the tree.
func (l *link) trySet(ctx context.Context, value any) error {
	return l.set(ctx, reflect.New(l.to.Field.Schema.ModelType).Elem(), value)
}

// set lets GORM convert value and set the foreign key of child.
func (l *link) set(ctx context.Context, child reflect.Value, value any) error {
	if err := l.to.Field.Set(ctx, child, value); err != nil {
		return fmt.Errorf("set %s: %w", l.to.Name(), err)
	}
	return nil
}

// copy sets the column of child to the value of parent or, for the type column of a
// polymorphic relation, to the constant. Only the first and the last case call GORM's
// setter, because the other two need no conversion by GORM.
func (l *link) copy(ctx context.Context, parent, child reflect.Value) error {
	switch {
	case l.constant != nil:
		return l.set(ctx, child, l.constant)
	case l.kind == linkAsID:
		l.copyID(parent, child)
		return nil
	case l.kind == linkVerbatim:
		value := l.from.Field.ReflectValueOf(ctx, parent)
		l.to.Field.ReflectValueOf(ctx, child).Set(value)
		return nil
	default:
		return l.set(ctx, child, l.value(ctx, parent))
	}
}

// copyID copies the parent's ID. If the parent's column is nil or NULL, it clears the
// foreign key.
func (l *link) copyID(parent, child reflect.Value) {
	id := l.from.Get(parent)
	if id == 0 && l.from.Kind.Optional() {
		if v, ok := l.to.Find(child); ok {
			v.SetZero()
		}
		return
	}
	l.to.Set(child, id)
}

// value returns the parent's value for GORM's setter. It converts a number for a string
// column to decimal text, because the setter would convert a named integer, or a pointer
// to one, to the character with that code point.
func (l *link) value(ctx context.Context, parent reflect.Value) any {
	value, _ := l.from.Field.ValueOf(ctx, parent)
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

// valueUnset reports whether the parent's value is unset.
func (l *link) valueUnset(parent reflect.Value) bool {
	v, ok := l.from.Find(parent)
	if l.kind == linkAsID {
		return !ok || l.from.Kind.Unset(v)
	}
	return !ok || v.IsZero()
}
