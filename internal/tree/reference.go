package tree

import (
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// links returns the columns that GORM sets when it saves the relation.
func (b *builder) links(rel *schema.Relationship) ([]*link, error) {
	var links []*link
	for _, ref := range rel.References {
		switch own := rel.Type != schema.BelongsTo; {
		case ref.PrimaryKey != nil && ref.OwnPrimaryKey == own:
			links = append(links, reference(ref.PrimaryKey, ref.ForeignKey))
		case ref.PrimaryValue != "": // polymorphic, and so no belongs-to
			l := &link{to: model.NewColumn(ref.ForeignKey), constant: ref.PrimaryValue, how: linkBySetter}
			if err := l.try(b.stmt.Context, l.constant); err != nil {
				return nil, fmt.Errorf("gormflake: Assign: %w", err)
			}
			links = append(links, l)
		}
	}
	return links, nil
}

// reference returns the link from a key to a foreign key. That the key's model has
// no error is known: it is a node of the graph.
func reference(from, to *schema.Field) *link {
	l := &link{from: model.NewColumn(from), to: model.NewColumn(to), generated: from.HasDefaultValue, tagged: model.IsTagged(from)}
	var err error
	l.from.Kind, _ = model.KindOf(from.FieldType) // the zero Kind converts to none
	l.to.Kind, err = model.KindOf(to.FieldType)
	switch {
	case err == nil && l.from.Kind.ConvertsTo(l.to.Kind):
		l.how = linkAsID
	case from.FieldType == to.FieldType && from.FieldType.Kind() != reflect.Pointer:
		l.how = linkVerbatim
	default:
		l.how = linkBySetter
	}
	return l
}
