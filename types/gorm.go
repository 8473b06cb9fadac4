package types

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/guard"
)

var (
	_ schema.GormDataTypeInterface  = ID(0)
	_ schema.CreateClausesInterface = ID(0)
)

// ownType is the type of a field with no type in a tag. It is not GORM's own
// "int", since GORM makes a primary key of that kind auto-increment.
const ownType = "bigint"

// GormDataType is the kind of column that GORM plans with, "bigint".
func (ID) GormDataType() string { return ownType }

// GormDBDataType is the type of the column that GORM's migrator creates: integer
// in SQLite, where only a primary key declared so is the table's row number and
// needs no second index, and BIGINT in all other databases.
//
// It leaves the type to GORM where that knows better: a type in the field's own
// gorm tag, the type of the key that a foreign key refers to, and a key with the
// tag autoIncrement, which the database assigns.
func (ID) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	if field != nil && (field.TagSettings["TYPE"] != "" || field.DataType != ownType) {
		return ""
	}
	if db.Name() == "sqlite" {
		return "integer"
	}
	if field != nil && field.AutoIncrement {
		return ""
	}
	return "BIGINT"
}

// CreateClauses makes GORM return an error instead of inserting a row whose only
// primary key is this field and is unset. The error names the cause and the fix:
// package gormflake's plugin is not registered, the field has no tag, or a hook has
// set the key back to 0. GORM calls CreateClauses once for each model.
//
// A row may lack its key if the database assigns it, by the tag autoIncrement or
// default, if the create omits it, and under gormflake.Skip. Without the plugin
// GORM does not check creates that are [gorm.DB.Unscoped].
func (ID) CreateClauses(field *schema.Field) []clause.Interface { return guard.Clauses(field) }
