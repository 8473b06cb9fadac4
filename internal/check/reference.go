package check

import (
	"errors"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// checkReferences finds foreign keys that cannot hold the serial numbers that they
// refer to, or that the database refuses. Other foreign keys that cannot hold a key
// are an error of the model.
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
	return checkText(db, ref)
}

// checkText finds a number that refers to a string. GORM gives the number a
// column of text, for which PostgreSQL's driver accepts no number.
func checkText(db *gorm.DB, ref *schema.Reference) error {
	defer model.ReadLock(ref.ForeignKey.Schema)()
	k, err := model.KindOf(ref.ForeignKey.FieldType)
	if db.Name() != "postgres" || err != nil || k.IsString() || ref.ForeignKey.DataType != schema.String {
		return nil
	}
	return errors.New("PostgreSQL's driver stores no number in a column of text: use string")
}
