package main

import (
	"github.com/gormflake/gormflake/types"
)

// The old program's models. The database assigns keys of 32 bits.
type (
	oldOrder struct {
		ID       int32     `gorm:"primaryKey;autoIncrement"`
		Customer string    `gorm:"size:40;not null"`
		Lines    []oldLine `gorm:"foreignKey:OrderID"`
	}
	oldLine struct {
		ID      int32  `gorm:"primaryKey;autoIncrement"`
		OrderID int32  `gorm:"not null;index"`
		Article string `gorm:"size:40;not null"`
	}
)

// The new program's models.
type (
	newOrder struct {
		ID       types.ID  `gorm:"primaryKey" snowflake:"pk"`
		Customer string    `gorm:"size:40;not null"`
		Lines    []newLine `gorm:"foreignKey:OrderID"`
	}
	newLine struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OrderID types.ID `gorm:"not null;index"`
		Article string   `gorm:"size:40;not null"`
	}
)

// Both programs use these tables. The names differ from tables that your database may have.
const (
	orderTable = "migrate_example_orders"
	lineTable  = "migrate_example_lines"
)

func (oldOrder) TableName() string { return orderTable }
func (oldLine) TableName() string  { return lineTable }
func (newOrder) TableName() string { return orderTable }
func (newLine) TableName() string  { return lineTable }
