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
		case ref.PrimaryValue != "" && own:
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

func (b *builder) reference(from, to *schema.Field) (*link, error) {
	m := b.set.Model(from.Schema)
	if m.Err != nil {
		return nil, m.Err
	}
	l := &link{from: model.NewColumn(from), to: model.NewColumn(to), generated: from.HasDefaultValue}
	serial := false
	for _, c := range m.Columns {
		l.tagged = l.tagged || c.Field == from
		serial = serial || c.Field == from && c.Serial != nil
	}
	var fromErr, toErr error
	l.from.Kind, fromErr = model.KindOf(from.FieldType)
	l.to.Kind, toErr = model.KindOf(to.FieldType)
	switch {
	case fromErr == nil && toErr == nil && l.from.Kind.ConvertsTo(l.to.Kind):
		l.how = linkAsID
	case from.FieldType == to.FieldType && from.FieldType.Kind() != reflect.Pointer:
		l.how = linkVerbatim
	default:
		l.how = linkBySetter
	}
	if serial && toErr != nil {
		return l, l.checkType(b.stmt.Context, toErr)
	}
	return l, nil
}

// checkType accepts a foreign key of another type if its own Scan accepts IDs. The
// model has checked foreign keys to other tagged columns.
func (l *link) checkType(ctx context.Context, reason error) error {
	t := l.to.Field.FieldType
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	basic := t.Kind() <= reflect.Complex128
	if basic || l.try(ctx, int64(1)<<62) != nil {
		return fmt.Errorf("gormflake: model %s, field %s, foreign key to %s: %w",
			l.to.Field.Schema.Name, l.to.Field.BindName(), l.from.Field.Schema.Name, reason)
	}
	return nil
}
