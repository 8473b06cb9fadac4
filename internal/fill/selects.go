package fill

import (
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
