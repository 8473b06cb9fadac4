package gormflake

import (
	"slices"

	"gorm.io/gorm"
)

// selection says for each column whether the statement names it (true), omits
// it (false) or is silent. It is nil where the statement has no Select and no Omit.
type selection map[string]bool

func (s selection) omits(c *column) bool {
	named, ok := s[c.field.DBName]
	return ok && !named
}

// selectKeys adds the tagged columns to a statement that selects others: GORM
// would write the row without its key, and the database would choose another
// one or none. A column that the statement omits stays out.
func selectKeys(stmt *gorm.Statement, columns []*column) selection {
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
		if _, ok := named[c.field.DBName]; !ok {
			selects = append(selects, c.field.DBName)
		}
	}
	stmt.Selects = selects
	return named
}
