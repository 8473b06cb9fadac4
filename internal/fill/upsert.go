package fill

import (
	"errors"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
)

// returnKeys makes an upsert return the keys that its rows have in the table. A
// row found by another unique column keeps its old key; without RETURNING the
// struct would keep the new one. It returns an error if the database could return
// the keys, but GORM not assign them to the right rows.
func returnKeys(stmt *gorm.Statement, m *model.Model) error {
	c, ok := stmt.Clauses["ON CONFLICT"]
	if !ok {
		return nil
	}
	conflict, ok := c.Expression.(clause.OnConflict)
	updates := !conflict.DoNothing && (conflict.UpdateAll || len(conflict.DoUpdates) > 0)
	if !ok || !updates || !slices.Contains(stmt.BuildClauses, "RETURNING") {
		return nil
	}
	// MySQL and MariaDB have no conflict target: any unique key of the table counts,
	// and the model may not know of it.
	if stmt.Name() != "mysql" && covers(target(stmt, conflict), m.Columns) {
		return nil
	}
	if err := checkReturn(stmt, m, conflict); err != nil {
		return err
	}
	if _, ok := stmt.Clauses["RETURNING"]; !ok && canReturn(stmt, conflict) {
		stmt.AddClause(clause.Returning{Columns: returned(stmt.Schema, m)})
		nameAsColumns(stmt, m)
	}
	return nil
}

// nameAsColumns renames the keys of a map that has them under another name than
// the column's, under which GORM writes what the database returns.
func nameAsColumns(stmt *gorm.Statement, m *model.Model) {
	maps, _ := guard.Maps(stmt.Dest)
	for _, row := range maps {
		for _, c := range m.Columns {
			name := nameIn(row, c.Field)
			if value, ok := row[name]; ok && name != c.Field.DBName {
				delete(row, name)
				row[c.Field.DBName] = value
			}
		}
	}
}

// target returns the columns by which the upsert asks for rows, nil if they are
// unknown.
func target(stmt *gorm.Statement, c clause.OnConflict) []string {
	switch {
	case c.OnConstraint != "":
		return nil
	case len(c.Columns) == 0 && c.UpdateAll:
		return stmt.Schema.PrimaryFieldDBNames
	}
	names := make([]string, 0, len(c.Columns))
	for _, column := range c.Columns {
		names = append(names, column.Name)
	}
	return names
}

// covers reports whether target has all of columns, so that rows in conflict have
// the keys of the structs.
func covers(target []string, columns []*model.Column) bool {
	return !slices.ContainsFunc(columns, func(c *model.Column) bool {
		return !slices.Contains(target, c.Field.DBName)
	})
}

// checkReturn rejects upserts of several rows whose keys GORM cannot assign. It
// matches returned rows to a slice by position, so every row must return, and it
// appends them to a slice of maps.
func checkReturn(stmt *gorm.Statement, m *model.Model, c clause.OnConflict) error {
	kind := stmt.ReflectValue.Kind()
	if kind != reflect.Slice && kind != reflect.Array {
		return nil
	}
	switch {
	case covers(target(stmt, c), underived(m)):
		return nil // on MySQL and MariaDB another unique column is possible, but not asked for
	case stmt.ReflectValue.Type().Elem().Kind() == reflect.Map:
		return errors.New("an upsert of a slice of maps by another column than the key cannot return the keys that the rows have: create the maps one by one, or use structs")
	case conditional(stmt, c):
		return errors.New("an upsert of a slice with a condition, by another column than the key, cannot return the keys that the rows have: create the rows one by one, or leave out Where")
	}
	return nil
}

// underived returns the columns of m that are not made from the primary key.
func underived(m *model.Model) []*model.Column {
	var columns []*model.Column
	for _, g := range m.Groups {
		columns = append(columns, g.Keys...)
		if g.Primary == nil {
			columns = append(columns, g.Serials...)
		}
	}
	return columns
}

// canReturn reports whether GORM can write the keys into the value.
func canReturn(stmt *gorm.Statement, c clause.OnConflict) bool {
	switch v := stmt.ReflectValue; v.Kind() {
	case reflect.Struct:
		return v.CanSet()
	case reflect.Map:
		return true
	case reflect.Array:
		return !conditional(stmt, c) && (v.CanSet() || v.Type().Elem().Kind() == reflect.Pointer)
	case reflect.Slice:
		return !conditional(stmt, c) && v.Type().Elem().Kind() != reflect.Map
	default:
		return false
	}
}

// conditional reports whether the upsert may leave rows alone. MySQL and MariaDB
// have no such condition, and GORM omits it there.
func conditional(stmt *gorm.Statement, c clause.OnConflict) bool {
	return stmt.Name() != "mysql" && len(c.Where.Exprs) > 0
}

// returned lists the keys and the columns that GORM would have returned, because
// GORM adds nothing to an existing RETURNING.
func returned(s *schema.Schema, m *model.Model) []clause.Column {
	fields := slices.Clone(s.PrimaryFields)
	for _, c := range m.Columns {
		fields = append(fields, c.Field)
	}
	var columns []clause.Column
	for _, f := range append(fields, s.FieldsWithDefaultDBValue...) {
		c := clause.Column{Name: f.DBName}
		if f.Readable && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}
