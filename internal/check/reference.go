package check

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// references finds foreign keys that cannot hold the serial numbers that they
// refer to, or that the database refuses, and those whose columns are too narrow
// in the table. Other foreign keys that cannot hold a key are an error of the
// model.
func (c *checker) references(s *schema.Schema) []error {
	var errs []error
	for _, ref := range model.TaggedReferences(s) {
		foreign, text, err := c.foreign(ref)
		switch {
		case err != nil:
			errs = append(errs, err)
		case text != "":
			errs = append(errs, model.ReferenceError(ref, text))
		case foreign != nil:
			errs = append(errs, c.foreignColumn(foreign))
		}
	}
	return errs
}

// foreign returns the foreign key as a column that holds what it refers to, or
// what is wrong with it. It returns neither if it is of a type with a Scan of its
// own, or refers to a model with an error.
func (c *checker) foreign(ref *schema.Reference) (foreign *model.Column, text string, err error) {
	// Another goroutine may still be parsing the schema in ref. Parse waits for it.
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(reflect.New(ref.PrimaryKey.Schema.ModelType).Interface()); err != nil {
		return nil, "", fmt.Errorf("gormflake: check model %s: %w", ref.ForeignKey.Schema.Name, err)
	}
	for _, key := range c.set.Model(stmt.Schema).Columns {
		if key.Field.DBName != ref.PrimaryKey.DBName {
			continue
		}
		foreign = model.NewColumn(ref.ForeignKey)
		foreign.Serial = key.Serial
		if key.Serial != nil {
			return foreign, serialText(key, foreign), nil
		}
		if foreign.Kind, err = model.KindOf(ref.ForeignKey.FieldType); err != nil {
			return nil, "", nil
		}
		return foreign, locked(ref.ForeignKey.Schema, func() string { return declared(c.db.Name(), foreign) }), nil
	}
	return nil, "", nil
}

// serialText returns what is wrong with a foreign key to serial numbers.
func serialText(key, foreign *model.Column) string {
	var err error
	if foreign.Kind, err = model.SerialKindOf(foreign.Field.FieldType); err != nil {
		return err.Error()
	}
	if err := key.CheckWidth(foreign.Field); err != nil {
		return err.Error()
	}
	return ""
}

func (c *checker) foreignColumn(foreign *model.Column) error {
	live, err := c.live(foreign)
	if live == nil {
		return err
	}
	return checkWidth(c.db, foreign, live)
}
