package check

import (
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// checkReferences finds foreign keys that cannot hold the keys or the serial
// numbers that they refer to.
func checkReferences(db *gorm.DB, set *model.Set, s *schema.Schema) []error {
	var errs []error
	for _, ref := range model.TaggedReferences(s) {
		if err := checkReference(db, set, ref); err != nil {
			errs = append(errs, model.ReferenceError(ref, err.Error()))
		}
	}
	return errs
}

func checkReference(db *gorm.DB, set *model.Set, ref *schema.Reference) error {
	// Another goroutine may still be parsing the schema in ref. Parse waits for it.
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(reflect.New(ref.PrimaryKey.Schema.ModelType).Interface()); err != nil {
		return err
	}
	for _, c := range set.Model(stmt.Schema).Columns {
		if c.Field.DBName != ref.PrimaryKey.DBName || c.Serial == nil {
			continue
		}
		if _, err := model.SerialKindOf(ref.ForeignKey.FieldType); err != nil {
			return err
		}
		return c.CheckWidth(ref.ForeignKey)
	}
	_, err := model.KindOf(ref.ForeignKey.FieldType)
	return err
}
