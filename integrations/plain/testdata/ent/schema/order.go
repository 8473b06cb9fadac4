// Package schema is the schema from which ent generates code.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/gormflake/gormflake/types"
)

// Order has keys that gormflake generates.
type Order struct{ ent.Schema }

// Fields implements [ent.Interface]. The columns are integers in the database, and of type
// types.ID in Go.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(types.ID(0)),
		field.Int64("parent").GoType(types.ID(0)).Optional().Nillable(),
	}
}
