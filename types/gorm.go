package types

import (
	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

var _ schema.GormDataTypeInterface = ID(0)

// GormDataType is the kind of column that GORM plans with. It is "bigint", not
// GORM's own "int", since GORM makes a primary key of that kind auto-increment.
func (ID) GormDataType() string { return "bigint" }

// GormDBDataType is the type of the column that GORM's migrator creates: integer
// in SQLite, where only a primary key declared so is the table's row number and
// needs no second index, and BIGINT in all other databases. A type in the
// field's own gorm tag is kept.
func (ID) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	if field != nil && field.TagSettings["TYPE"] != "" {
		return ""
	}
	if db.Name() == "sqlite" {
		return "integer"
	}
	return "BIGINT"
}
