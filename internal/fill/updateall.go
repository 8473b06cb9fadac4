package fill

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// keepIDs makes an upsert with UpdateAll leave out the tagged columns, because an existing
// row keeps its IDs and serial numbers. GORM chooses the columns of UpdateAll only while it
// builds the statement. If the model has a tagged column besides the primary key, keepIDs
// therefore replaces UpdateAll by a list of columns, which keepIDs chooses by GORM's rules. It
// also does so if there is no column to update, because GORM then makes the upsert DO NOTHING,
// and [reportOf] has to know that before. keepIDs reports whether it has changed c.
func keepIDs(stmt *gorm.Statement, m *model.Model, c *clause.OnConflict) bool {
	// On MySQL, an upsert without a column to update sets the key to itself.
	if !c.UpdateAll || !hasNonPrimary(m) && stmt.Name() == "mysql" {
		return false
	}
	set := updatesOf(stmt, m)
	if !hasNonPrimary(m) && len(c.DoUpdates)+len(set) > 0 {
		return false
	}
	if len(c.Columns) == 0 && c.OnConstraint == "" { // GORM then takes the primary key as the target
		for _, f := range stmt.Schema.PrimaryFields {
			c.Columns = append(slices.Clip(c.Columns), clause.Column{Name: f.DBName})
		}
	}
	c.UpdateAll = false
	c.DoUpdates = slices.Concat(c.DoUpdates, set)
	c.DoNothing = c.DoNothing || len(c.DoUpdates) == 0 // because no column is left to update
	return true
}

// hasNonPrimary reports whether the model has a tagged column that is not a primary key.
func hasNonPrimary(m *model.Model) bool {
	return slices.ContainsFunc(m.Columns, func(c *model.Column) bool { return !c.Field.PrimaryKey })
}

// updatesOf returns the assignments that GORM would make for UpdateAll, without the
// tagged columns.
func updatesOf(stmt *gorm.Statement, m *model.Model) (set clause.Set) {
	named, restricted := stmt.SelectAndOmitColumns(true, true) // columns of creates and updates
	now := stmt.DB.NowFunc()
	for _, name := range stmt.Schema.DBNames {
		f := stmt.Schema.FieldsByDBName[name]
		selected, isNamed := named[name]
		// GORM leaves out a column whose default only the database knows, except default:NULL.
		leftToDatabase := hasDatabaseDefault(f) && !strings.EqualFold(f.DefaultValue, "NULL")
		// GORM also leaves out the primary key, the time of creation, columns that the
		// statement does not select, and columns that it does not insert.
		if hasColumn(m, name) || f.PrimaryKey || leftToDatabase || f.AutoCreateTime > 0 || !selected && (isNamed || restricted) || !inserts(stmt, f) {
			continue
		}
		if f.AutoUpdateTime > 0 {
			set = append(set, clause.Assignment{Column: clause.Column{Name: name}, Value: updateTime(f, now)})
			continue
		}
		set = append(set, clause.AssignmentColumns([]string{name})...)
	}
	return set
}

// hasDatabaseDefault reports whether the column has a default that GORM does not set itself,
// such as default:NULL or default:now().
func hasDatabaseDefault(f *schema.Field) bool {
	return f.HasDefaultValue && f.DefaultValueInterface == nil
}

// inserts reports whether the statement inserts a value into the column. Maps may lack a
// column. Structs have all columns, but GORM leaves out a column with a default of the
// database if it is zero in each row.
func inserts(stmt *gorm.Statement, f *schema.Field) bool {
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		return slices.ContainsFunc(maps, func(values map[string]any) bool {
			_, found := values[nameIn(values, f)]
			return found
		})
	}
	if !hasDatabaseDefault(f) {
		return true
	}
	rows, err := rowview.Of(stmt)
	return err == nil && rows.Contain(func(row reflect.Value) bool {
		_, isZero := f.ValueOf(stmt.Context, row)
		return !isZero
	})
}

// updateTime returns now in the unit of the field.
func updateTime(f *schema.Field, now time.Time) any {
	switch f.AutoUpdateTime {
	case schema.UnixNanosecond:
		return now.UnixNano()
	case schema.UnixMillisecond:
		return now.UnixMilli()
	case schema.UnixSecond:
		return now.Unix()
	}
	return now
}
