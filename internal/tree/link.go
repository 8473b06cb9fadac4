package tree

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// link describes a column of a child that a relation sets. For example, the relation
// Order.Lines sets the column Line.OrderID (to) to the value of Order.ID (from) in the
// parent. A polymorphic relation also sets a type column to a constant, such as "orders".
type link struct {
	from, to *model.Column // from is nil for a constant
	constant any           // nil unless to is the type column of a polymorphic relation
	kind     linkKind

	tagged    bool // from is tagged, so Assign sets it if it is unset
	generated bool // from has a default, so the database sets it in the INSERT if it is unset

	fromLinked bool // another link sets from

	// toRelay is set if to is untagged and another link reads it, so that to passes a value
	// on. An example is a foreign key that is part of a primary key.
	toRelay bool
}

// linkKind is the way in which a link copies its value into the foreign key.
type linkKind uint8

const (
	linkAsID     linkKind = iota // both columns are of a kind that holds IDs
	linkVerbatim                 // both columns have the same type, not a pointer
	linkBySetter                 // GORM converts the value, which may fail
)

// reference returns the link from a key to a foreign key.
func reference(from, to *schema.Field) *link {
	l := &link{from: model.NewColumn(from), to: model.NewColumn(to), generated: from.HasDefaultValue, tagged: model.IsTagged(from)}
	var err error
	// A tagged key has a kind, because the graph contains no model with a wrong tag. An untagged
	// key may have a type that cannot hold an ID. It gets the zero Kind, which converts to no
	// other kind.
	l.from.Kind, _ = model.KindOf(from.FieldType)
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

// rowColumn identifies a column of a row in the tree.
type rowColumn struct {
	field   *schema.Field
	address uintptr // of the row
}

// trySet returns the error that setting the foreign key to value would return. It sets the
// foreign key of a new row, so that the tree does not change.
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

// copy sets the column l.to of child to the value of l.from in parent or, for the type column
// of a polymorphic relation, to the constant. Only the first and the last case call GORM's
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

// copyID copies the parent's ID to the foreign key of child. If the parent's column is a pointer
// or a type such as sql.NullInt64, and is nil, NULL or 0, copyID clears the foreign key.
func (l *link) copyID(parent, child reflect.Value) {
	id := l.from.Get(parent)
	if id == 0 && l.from.Kind.Optional() {
		if v, ok := l.to.Find(child); ok { // otherwise it is behind a nil pointer, and so is clear
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

// valueUnset reports whether the parent's value, which the link copies, is unset.
func (l *link) valueUnset(parent reflect.Value) bool {
	v, ok := l.from.Find(parent)
	if l.kind == linkAsID { // a pointer or a sql.Null type is also unset if it contains 0
		return !ok || l.from.Kind.Unset(v)
	}
	return !ok || v.IsZero()
}
