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
// Its check constraint rejects a row without a key on every database. Without it,
// a program that has not registered the plugin loses children silently: all of
// them get the key 0, and each overwrites the previous one.
type Model struct {
	ID types.ID `gorm:"primaryKey;autoIncrement:false;not null" snowflake:"pk"`

	// The check is not on ID, because GORM copies the tag of a key into
	// many-to-many join tables, which have no column id.
	CreatedAt time.Time `gorm:"check:id > 0"`
	UpdatedAt time.Time
}
