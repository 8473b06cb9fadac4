package check

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// references finds foreign keys that cannot hold the keys or serial numbers to which
// they refer.
func (c *checker) references(s *schema.Schema) []error {
	var errs []error
	for _, ref := range model.TaggedReferences(s) {
		if err := model.CheckReference(ref); err != nil {
			errs = append(errs, fmt.Errorf("gormflake: %w", err))
			continue
		}
		errs = append(errs, c.reference(ref))
	}
	return errs
}

// reference checks the column of a foreign key whose type is right: in its table or,
// while that does not exist, in the model.
func (c *checker) reference(ref *schema.Reference) error {
	key, err := c.key(ref)
	if key == nil {
		return err
	}
	foreign, err := foreignColumn(ref, key)
	switch {
	case err != nil:
		return fmt.Errorf("gormflake: %w", model.ReferenceError(ref, err.Error()))
	case foreign == nil:
		return nil
	}
	live, err := c.live(foreign)
	return errors.Join(err, c.width(foreign, live, func(text string) error {
		return fmt.Errorf("gormflake: %w", model.ReferenceError(ref, text))
	}))
}

// foreignColumn returns the foreign key as a column that holds what key holds, nil if
// it is of a type with a Scan of its own.
func foreignColumn(ref *schema.Reference, key *model.Column) (foreign *model.Column, err error) {
	foreign = model.NewColumn(ref.ForeignKey)
	if foreign.Serial = key.Serial; key.Serial == nil {
		if foreign.Kind, err = model.KindOf(ref.ForeignKey.FieldType); err != nil {
			return nil, nil
		}
		return foreign, nil
	}
	if foreign.Kind, err = model.SerialKindOf(ref.ForeignKey.FieldType); err != nil {
		return nil, err
	}
	return foreign, key.CheckWidth(ref.ForeignKey)
}

// key returns the column to which the foreign key refers, nil if its model has an
// error there.
func (c *checker) key(ref *schema.Reference) (*model.Column, error) {
	// Another goroutine may still be parsing the schema in ref. Parse waits for it.
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(reflect.New(ref.PrimaryKey.Schema.ModelType).Interface()); err != nil {
		return nil, fmt.Errorf("gormflake: check model %s: %w", ref.ForeignKey.Schema.Name, err)
	}
	for _, key := range c.set.Model(stmt.Schema).Columns {
		if key.Field.DBName == ref.PrimaryKey.DBName {
			return key, nil
		}
	}
	return nil, nil
}
