// Package models is what the generators read.
package models

import (
	"gorm.io/cli/gorm/field"
	"gorm.io/cli/gorm/genconfig"

	"github.com/gormflake/gormflake/types"
)

//go:generate go run gorm.io/cli/gorm@v0.2.4 gen -i . -o ../cliquery

var _ = genconfig.Config{
	OutPath:      "../cliquery",
	FieldTypeMap: map[any]any{types.ID(0): field.Number[types.ID]{}},
}

// Order is a row whose parent may be NULL.
type Order struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Parent *types.ID
}
