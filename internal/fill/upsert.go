package fill

import (
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// returnKeys makes an upsert return the keys that its rows have in the table. A
// row found by another unique column keeps its old key; without RETURNING the
// struct would keep the new one.
func returnKeys(stmt *gorm.Statement, m *model.Model) {
	c, ok := stmt.Clauses["ON CONFLICT"]
	if !ok {
		return
	}
	conflict, ok := c.Expression.(clause.OnConflict)
	if !ok || !updates(conflict) || keysAreTarget(stmt, m, conflict) || !canReturn(stmt, conflict) {
		return
	}
	stmt.AddClause(clause.Returning{Columns: returned(stmt.Schema, m)})
}

func updates(c clause.OnConflict) bool {
	return !c.DoNothing && (c.UpdateAll || len(c.DoUpdates) > 0)
}

// keysAreTarget reports whether the conflict is on the tagged columns, so that
// rows in conflict have the keys of the structs.
func keysAreTarget(stmt *gorm.Statement, m *model.Model, c clause.OnConflict) bool {
	// MySQL and MariaDB have no conflict target: any unique key of the table
	// counts, and the model may not know of it.
	if stmt.Name() == "mysql" {
		return false
	}
	target := make([]string, 0, len(c.Columns))
	for _, column := range c.Columns {
		target = append(target, column.Name)
	}
	if len(target) == 0 && c.UpdateAll {
		target = stmt.Schema.PrimaryFieldDBNames
	}
	return !slices.ContainsFunc(m.Columns, func(c *model.Column) bool {
		return !slices.Contains(target, c.Field.DBName)
	})
}

// canReturn reports whether GORM can read the keys back into the value. GORM
// matches returned rows to a slice by position, so every row must return.
func canReturn(stmt *gorm.Statement, c clause.OnConflict) bool {
	if _, ok := stmt.Clauses["RETURNING"]; ok || !slices.Contains(stmt.BuildClauses, "RETURNING") {
		return false
	}
	switch stmt.ReflectValue.Kind() {
	case reflect.Struct:
		return stmt.ReflectValue.CanSet()
	case reflect.Map:
		return true
	case reflect.Array:
		return len(c.Where.Exprs) == 0 && (stmt.ReflectValue.CanSet() || isPointer(stmt.ReflectValue))
	case reflect.Slice:
		return len(c.Where.Exprs) == 0 && stmt.ReflectValue.Type().Elem().Kind() != reflect.Map
	default:
		return false
	}
}

func isPointer(list reflect.Value) bool { return list.Type().Elem().Kind() == reflect.Pointer }

// returned lists the keys and the columns that GORM would have returned, because
// GORM adds nothing to an existing RETURNING.
func returned(s *schema.Schema, m *model.Model) []clause.Column {
	var columns []clause.Column
	add := func(f *schema.Field) {
		c := clause.Column{Name: f.DBName}
		if f.Readable && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	for _, f := range s.PrimaryFields {
		add(f)
	}
	for _, c := range m.Columns {
		add(c.Field)
	}
	for _, f := range s.FieldsWithDefaultDBValue {
		add(f)
	}
	return columns
}
