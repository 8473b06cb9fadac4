package gormflake

import (
	"time"

	"github.com/gormflake/gormflake/types"
)

// Model is a base struct to embed in place of gorm.Model. It has a Snowflake primary key
// and the two timestamps that GORM maintains.
//
//	type Order struct {
//		gormflake.Model
//		Customer string
//	}
//
// The key needs no check constraint, because [types.ID.CreateClauses] makes a create fail
// that would store the key 0.
type Model struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	CreatedAt time.Time
	UpdatedAt time.Time
}
