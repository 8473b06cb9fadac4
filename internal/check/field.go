package check

import (
	"fmt"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

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
		return nil // checked when the tag was parsed
	}
	switch {
	case f.AutoIncrement:
		return mistake(c, "GORM makes the column auto-increment: add gorm:\"autoIncrement:false\" or use types.ID")
	case f.HasDefaultValue:
		return mistake(c, "the column has a default: remove gorm:\"default\"")
	}
	return checkSize(c)
}

// checkSize checks gorm:"size". A string without it has the dialect's default.
func checkSize(c *model.Column) error {
	size := c.Field.Size
	if c.Kind.IsString() {
		if size > 0 && size < model.IDDigits {
			return mistake(c, fmt.Sprintf("the column has %d characters, an ID needs %d: raise gorm:\"size\"", size, model.IDDigits))
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
