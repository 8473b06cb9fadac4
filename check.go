package gormflake

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// Check tells at start-up what would go wrong later. For every model it wants
//
//   - the plugin registered in db,
//   - at least one tag, and every tag valid,
//   - no auto-increment and no default on a column of keys, neither in the
//     model nor in its table, if that exists,
//   - columns that hold 63 bits, for the keys and for the foreign keys that
//     refer to them,
//   - columns that hold a whole serial number, in the model, in its table and
//     in the model's foreign keys, and a generator that tells its layout,
//   - columns of the table that give back what they were given: PostgreSQL's
//     char(n) and MySQL's binary(n) pad it.
//
// It returns nil or one error that joins all mistakes of all models. It only
// reads.
//
//	err := gormflake.Check(db, &Order{}, &Line{})
func Check(db *gorm.DB, models ...any) error {
	p, err := pluginOf(db)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range models {
		errs = append(errs, p.check(db, m)...)
	}
	return errors.Join(errs...)
}

func (p *Plugin) check(db *gorm.DB, model any) []error {
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(model); err != nil {
		return []error{fmt.Errorf("gormflake: check %T: %w", model, err)}
	}
	s := stmt.Schema
	m := p.set.Model(s)
	if m.Err != nil {
		return []error{m.Err}
	}
	columns := m.Columns
	if len(columns) == 0 {
		return []error{fmt.Errorf("gormflake: model %s has no snowflake tag: tag its key snowflake:\"pk\" or leave it out of Check", s.Name)}
	}
	errs := checkFields(s, columns)
	errs = append(errs, p.narrowReferences(db, s)...)
	return append(errs, checkTable(db, model, s, columns)...)
}

func checkFields(s *schema.Schema, columns []*model.Column) []error {
	defer model.ReadLock(s)()
	var errs []error
	for _, c := range columns {
		errs = append(errs, checkField(c))
	}
	return errs
}

func checkField(c *model.Column) error {
	f := c.Field
	if c.Serial != nil {
		return nil // parsing the tag has judged it
	}
	switch {
	case f.AutoIncrement:
		return mistake(c, "GORM makes the column auto-increment: add gorm:\"autoIncrement:false\" or use types.ID")
	case f.HasDefaultValue:
		return mistake(c, "the column has a default: remove gorm:\"default\"")
	}
	return checkSize(c)
}

// checkSize judges gorm:"size"; a string without one has the dialect's default.
func checkSize(c *model.Column) error {
	size := c.Field.Size
	if c.Kind.IsString() {
		if size > 0 && size < idDigits {
			return mistake(c, fmt.Sprintf("the column has %d characters, an ID needs %d: raise gorm:\"size\"", size, idDigits))
		}
		return nil
	}
	if size > 0 && size < 64 {
		return mistake(c, fmt.Sprintf("the column has %d bits, an ID needs 64: remove gorm:\"size\"", size))
	}
	return nil
}

func mistake(c *model.Column, text string) error {
	return fmt.Errorf("gormflake: model %s, field %s: %s", c.Field.Schema.Name, c.Field.BindName(), text)
}

// narrowReferences finds foreign keys that cannot hold the keys or the serial
// numbers they refer to.
func (p *Plugin) narrowReferences(db *gorm.DB, s *schema.Schema) []error {
	var errs []error
	for _, ref := range model.TaggedReferences(s) {
		if err := p.fits(db, ref); err != nil {
			errs = append(errs, model.ReferenceError(ref, err.Error()))
		}
	}
	return errs
}

func (p *Plugin) fits(db *gorm.DB, ref *schema.Reference) error {
	// The schema in ref may still be in the making by another goroutine; parsing waits for it.
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(reflect.New(ref.PrimaryKey.Schema.ModelType).Interface()); err != nil {
		return err
	}
	for _, c := range p.set.Model(stmt.Schema).Columns {
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
