package gormflake

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"
)

// links returns the columns that GORM fills when it saves the relation.
func (b *builder) links(rel *schema.Relationship) ([]*link, error) {
	var links []*link
	for _, ref := range rel.References {
		var l *link
		var err error
		switch own := rel.Type != schema.BelongsTo; {
		case ref.PrimaryKey != nil && ref.OwnPrimaryKey == own:
			l, err = b.reference(ref.PrimaryKey, ref.ForeignKey)
		case ref.PrimaryValue != "" && own:
			l = &link{to: columnOf(ref.ForeignKey), constant: ref.PrimaryValue, how: linkBySetter}
			if err = l.try(b.stmt.Context, l.constant); err != nil {
				err = fmt.Errorf("gormflake: Assign: %w", err)
			}
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

func (b *builder) reference(from, to *schema.Field) (*link, error) {
	m := b.plugin.model(from.Schema)
	if m.err != nil {
		return nil, m.err
	}
	l := &link{from: columnOf(from), to: columnOf(to), generated: from.HasDefaultValue}
	for _, c := range m.columns {
		l.tagged = l.tagged || c.field == from
	}
	var fromErr, toErr error
	l.from.kind, fromErr = kindOf(from.FieldType)
	l.to.kind, toErr = kindOf(to.FieldType)
	switch {
	case fromErr == nil && toErr == nil && carries(l.from.kind, l.to.kind):
		l.how = linkAsID
	case from.FieldType == to.FieldType && from.FieldType.Kind() != reflect.Pointer:
		l.how = linkVerbatim
	default:
		l.how = linkBySetter
	}
	if l.tagged && toErr != nil {
		return l, l.holdsID(b.stmt.Context, toErr)
	}
	return l, nil
}

// carries reports whether every value of one kind reaches the other by get and
// set. Strings may hold more than IDs.
func carries(from, to kind) bool {
	return from.scalar == reflect.Int64 || from.scalar == reflect.Uint64 && to.scalar != reflect.String
}

// holdsID accepts a foreign key of another type if that takes IDs by itself.
func (l *link) holdsID(ctx context.Context, reason error) error {
	t := l.to.field.FieldType
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	basic := t.Kind() <= reflect.Complex128
	if basic || l.try(ctx, int64(1)<<62) != nil {
		return fmt.Errorf("gormflake: model %s, field %s, foreign key to %s: %w",
			l.to.field.Schema.Name, l.to.field.BindName(), l.from.field.Schema.Name, reason)
	}
	return nil
}
