package check

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// reference checks the column of a foreign key whose type is right: in its table or,
// while that does not exist, in the model.
func (c *checker) reference(ref model.Reference) error {
	if ref.Err != nil {
		return fmt.Errorf("gormflake: %w", ref.Err)
	}
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(reflect.New(ref.Key.Field.Schema.ModelType).Interface()); err != nil {
		return fmt.Errorf("gormflake: check model %s: %w", ref.Foreign.Schema.Name, err)
	}
	blame := func(text string) error { return fmt.Errorf("gormflake: %w", ref.Error(text)) }
	foreign := model.NewColumn(ref.Foreign)
	foreign.Serial = ref.Key.Serial
	var err error
	if foreign.Kind, err = model.KindOf(ref.Foreign.FieldType); err != nil {
		return nil // it has a Scan of its own
	}
	if foreign.Serial != nil {
		if err := ref.Key.CheckWidth(ref.Foreign); err != nil {
			return blame(err.Error())
		}
	}
	live, err := c.live(foreign)
	return errors.Join(err, c.width(foreign, live, blame))
}
