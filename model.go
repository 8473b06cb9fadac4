package gormflake

import (
	"time"

	"github.com/gormflake/gormflake/types"
)

// Model is a base to embed where gorm.Model would be: a Snowflake primary key
// and the two timestamps that GORM keeps.
//
//	type Order struct {
//		gormflake.Model
//		Customer string
//	}
//
// Its key has no check constraint: a create that would store the key 0 is an error
// without one, see [types.ID.CreateClauses].
type Model struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	CreatedAt time.Time
	UpdatedAt time.Time
}
