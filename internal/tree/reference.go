package tree

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// links returns the columns that GORM sets when it saves the relation.
func (b *builder) links(rel *schema.Relationship) ([]*link, error) {
	var links []*link
	for _, ref := range rel.References {
		var l *link
		var err error
		switch own := rel.Type != schema.BelongsTo; {
		case ref.PrimaryKey != nil && ref.OwnPrimaryKey == own:
			l, err = b.reference(ref.PrimaryKey, ref.ForeignKey)
		case ref.PrimaryValue != "": // polymorphic, and so no belongs-to
			l = &link{to: model.NewColumn(ref.ForeignKey), constant: ref.PrimaryValue, how: linkBySetter}
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

// reference returns the link from a key to a foreign key. That the key's model has
// no error is known: it is a node of the graph.
func (b *builder) reference(from, to *schema.Field) (*link, error) {
	l := &link{from: model.NewColumn(from), to: model.NewColumn(to), generated: from.HasDefaultValue}
	var example string // of the serial numbers that from holds
	for _, c := range b.set.Model(from.Schema).Columns {
		if c.Field != from {
			continue
		}
		l.tagged = true
		if c.Serial != nil {
			example = c.Serial.Format(1)
		}
	}
	var toErr error
	l.from.Kind, _ = model.KindOf(from.FieldType) // the zero Kind converts to none
	l.to.Kind, toErr = model.KindOf(to.FieldType)
	switch {
	case toErr == nil && l.from.Kind.ConvertsTo(l.to.Kind):
		l.how = linkAsID
	case from.FieldType == to.FieldType && from.FieldType.Kind() != reflect.Pointer:
		l.how = linkVerbatim
	default:
		l.how = linkBySetter
	}
	if example != "" {
		return l, l.checkSerial(b.stmt.Context, example)
	}
	return l, nil
}

// checkSerial accepts a foreign key to serial numbers like the example that is a
// string, or of a type whose own Scan accepts them. The model has checked foreign keys to other
// tagged columns.
func (l *link) checkSerial(ctx context.Context, example string) error {
	t := l.to.Field.FieldType
	_, reason := model.SerialKindOf(t)
	if reason == nil {
		return nil
	}
	basic := t.Kind() <= reflect.Float64 // GORM makes false of any text, and a float of digits
	if basic || l.try(ctx, example) != nil {
		return fmt.Errorf("gormflake: model %s, field %s, foreign key to %s: %w",
			l.to.Field.Schema.Name, l.to.Field.BindName(), l.from.Field.Schema.Name, reason)
	}
	return nil
}
