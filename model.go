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
// Its check constraint makes a row without a key a loud error on every
// database. Without it a program that forgot the plugin loses details in
// silence: all of them get the key 0, and each overwrites the one before.
type Model struct {
	ID types.ID `gorm:"primaryKey;autoIncrement:false;not null" snowflake:"pk"`

	// GORM copies the tag of a key into many-to-many join tables, which have no
	// column id; the check therefore stands here.
	CreatedAt time.Time `gorm:"check:id > 0"`
	UpdatedAt time.Time
}
