package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

// Namer marks the schemas that GORM parses with it, because GORM stores the Namer in the
// schema. The mark shows [UntaggedKey] that the plugin had the schema parsed, and that it
// was not in use before.
type Namer struct{ schema.Namer }

const mark = "gormflake: "

// ColumnName implements schema.Namer. If column begins with the mark, ColumnName returns
// the rest of it. A schema that was parsed with another Namer does not resolve such a
// name.
func (n Namer) ColumnName(table, column string) string {
	if name, marked := strings.CutPrefix(column, mark); marked {
		return name
	}
	return n.Namer.ColumnName(table, column)
}

// UntaggedKey returns the primary key of a listed model that the database would assign.
// It returns nil if the model has a tagged key or is left out, and an error if [Adopt]
// cannot tag the key.
func UntaggedKey(s *schema.Schema) (*schema.Field, error) {
	if slices.ContainsFunc(s.PrimaryFields, IsTagged) || leavesOut(s.ModelType) {
		return nil, nil
	}
	if len(s.PrimaryFields) != 1 {
		return nil, notListed("the key has %d columns (%s): tag the one that gets IDs snowflake:\"pk\"", len(s.PrimaryFields), strings.Join(s.PrimaryFieldDBNames, ", "))
	}
	f := s.PrimaryFields[0]
	if err := checkUntagged(f); err != nil {
		return nil, notListed("field %s: %w", f.BindName(), err)
	}
	if s.LookUpField(mark+f.DBName) != f {
		return nil, errors.New("the model was used before the plugin was registered: register the plugin before AutoMigrate, SetupJoinTable and the first statement, and give dbresolver the name of the table instead of the model, or register it later")
	}
	return f, nil
}

func notListed(format string, args ...any) error {
	return fmt.Errorf(format+`, or leave the model out by snowflake:"-" on a field`, args...)
}

// checkUntagged returns an error if the plugin cannot give keys to the field.
func checkUntagged(f *schema.Field) error {
	_, err := newColumn(f.Schema, f, "pk", generators{"": nil})
	switch {
	case err != nil:
		return err
	case !f.AutoIncrement:
		return fmt.Errorf("the database does not assign the key, a %s: tag it snowflake:\"pk\"", f.FieldType)
	case f.DefaultValue != "":
		return errors.New(`the key has a default: remove gorm:"default"`)
	case f.Size > 0 && f.Size < 64 && (f.DataType == schema.Int || f.DataType == schema.Uint):
		return fmt.Errorf(`the column has %d bits, an ID needs 64: remove gorm:"size"`, f.Size)
	}
	return nil
}

// Adopt makes f, which [UntaggedKey] returned, a field with the tag snowflake:"pk" and
// the setting autoIncrement:false. No other goroutine may use the schema of f during the
// call.
//
// On SQLite, Adopt also changes the column's type to bigint NOT NULL. An integer primary
// key is the rowid there, to which SQLite assigns a value if an INSERT omits it. A bigint
// is not the rowid, and NOT NULL makes such an INSERT fail, as on other databases.
func Adopt(f *schema.Field, dialect string) {
	f.Tag = tagKey + `:"pk" ` + f.Tag
	f.AutoIncrement, f.HasDefaultValue = false, false
	f.Schema.FieldsWithDefaultDBValue = slices.DeleteFunc(f.Schema.FieldsWithDefaultDBValue, func(d *schema.Field) bool { return d == f })
	if dialect == "sqlite" {
		f.DataType, f.NotNull = "bigint", true
	}
}
