// Package check finds what is wrong with a model before the first row is
// created: a tag, a column of the Go struct, a foreign key, or a column of the
// live table.
//
// [Models] goes through the models one by one: their tags ([model.Set.Model]),
// their fields (checkFields), the foreign keys that refer to them
// (checkReferences) and their tables (checkTable).
package check

import (
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// Models returns the mistakes of all models, joined.
func Models(db *gorm.DB, set *model.Set, models ...any) error {
	var errs []error
	for _, m := range models {
		errs = append(errs, checkModel(db, set, m)...)
	}
	return errors.Join(errs...)
}

func checkModel(db *gorm.DB, set *model.Set, value any) []error {
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(value); err != nil {
		return []error{fmt.Errorf("gormflake: check %T: %w", value, err)}
	}
	s := stmt.Schema
	m := set.Model(s)
	if m.Err != nil {
		return []error{m.Err}
	}
	if len(m.Columns) == 0 {
		return []error{fmt.Errorf("gormflake: model %s has no snowflake tag: tag its key snowflake:\"pk\" or leave it out of Check", s.Name)}
	}
	errs := checkFields(s, m.Columns)
	errs = append(errs, checkReferences(db, set, s)...)
	return append(errs, checkTable(db, value, s, m.Columns)...)
}
