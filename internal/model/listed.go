package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

// Namer is a naming strategy by which [UntaggedKey] recognises schemas that the plugin
// made GORM parse. GORM parses each model once, and stores the naming strategy in the
// schema. A schema with another strategy was parsed earlier, for example by a statement.
// [Adopt] may not change such a schema, because other goroutines may use it.
type Namer struct{ schema.Namer }

// nameMark begins a name that only [Namer] resolves, such as "gormflake: id" for the
// column id.
const nameMark = "gormflake: "

// ColumnName implements schema.Namer. GORM's LookUpField calls it for a name that is
// neither a column nor a field. ColumnName removes nameMark from the name, so that
// LookUpField finds the field. With another naming strategy, LookUpField finds no field
// by such a name.
func (n Namer) ColumnName(table, column string) string {
	if name, marked := strings.CutPrefix(column, nameMark); marked {
		return name
	}
	return n.Namer.ColumnName(table, column)
}

// UntaggedKey returns the untagged primary key of a model that gormflake.WithModels
// lists. It returns nil if the model has a tagged key, or a field with the tag
// snowflake:"-", which leaves the model out. It returns an error if [Adopt] cannot tag the
// key.
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
	if s.LookUpField(nameMark+f.DBName) != f { // the schema has another naming strategy than Namer
		return nil, errors.New("the model was used before the plugin was registered: register the plugin before AutoMigrate, SetupJoinTable and the first statement, and give dbresolver the name of the table instead of the model, or register it later")
	}
	return f, nil
}

// notListed returns the error for a model that WithModels cannot list. It adds the advice
// to leave the model out.
func notListed(format string, args ...any) error {
	return fmt.Errorf(format+`, or leave the model out by snowflake:"-" on a field`, args...)
}

// checkUntagged returns an error if the plugin cannot give keys to the field. It first
// checks the field as if it were tagged pk.
func checkUntagged(f *schema.Field) error {
	// newColumn wants a generator of the name "" for the tag pk, but does not call it.
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

// Adopt changes f, which [UntaggedKey] returned, as if it had the tags snowflake:"pk" and
// gorm:"autoIncrement:false". It also removes f from the fields whose values GORM reads
// back after an INSERT, because the plugin now sets the key, and no longer the database.
// No other goroutine may use the schema of f during the call.
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
