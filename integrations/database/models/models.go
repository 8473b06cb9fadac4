// Package models contains the models from which the generators of gorm.io/cli/gorm and
// gorm.io/gen create code.
package models

import (
	"gorm.io/cli/gorm/field"
	"gorm.io/cli/gorm/genconfig"

	"github.com/gormflake/gormflake/types"
)

//go:generate go run gorm.io/cli/gorm@v0.2.4 gen -i . -o ../cliquery

// The generator of gorm.io/cli/gorm reads this configuration from the source.
var _ = genconfig.Config{
	OutPath:      "../cliquery",
	FieldTypeMap: map[any]any{types.ID(0): field.Number[types.ID]{}},
}

// Order is a row whose parent may be NULL.
type Order struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Parent *types.ID
}

// LineID has a name, because the generator of gorm.io/cli/gorm writes code that does not
// compile for a field types.Of[Line].
type LineID = types.Of[Line]

// Line has a typed key.
type Line struct {
	ID LineID `gorm:"primaryKey" snowflake:"pk"`
}
