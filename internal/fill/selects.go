package fill

import (
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// selectKeys adds the tagged columns to a statement that selects others. GORM
// would otherwise write the row without its key, and the database would choose
// another or none. A column that the statement omits stays out.
func selectKeys(stmt *gorm.Statement, columns []*model.Column) model.Selection {
	if len(stmt.Selects)+len(stmt.Omits) == 0 {
		return nil
	}
	named, restricted := stmt.SelectAndOmitColumns(true, false)
	if !restricted {
		return named
	}
	// The backing array is shared with every statement derived from the same session.
	selects := slices.Clip(stmt.Selects)
	for _, c := range columns {
		if _, ok := named[c.Field.DBName]; !ok {
			selects = append(selects, c.Field.DBName)
		}
	}
	stmt.Selects = selects
	return named
}

// checkOmitted rejects a create that omits a key on SQLite, which then chooses
// NULL, or a number that a generator may issue later, while the struct keeps
// another. Other databases refuse such a row, unless the column has a default.
func checkOmitted(stmt *gorm.Statement, m *model.Model, selected model.Selection) error {
	if stmt.Name() != "sqlite" {
		return nil
	}
	for _, c := range m.Columns {
		if selected.Omits(c) && c.Field.PrimaryKey && !c.Field.HasDefaultValue {
			return fmt.Errorf("the statement omits the key %s, and SQLite would choose one that the struct does not get: leave it out of Omit, or set the key of a copy to 0", c.Field.BindName())
		}
	}
	return nil
}
