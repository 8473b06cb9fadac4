package fill

import (
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// onConflict returns the upsert of the statement and true. It returns nil and true if the
// statement is no upsert. It returns nil and false if the statement has an ON CONFLICT clause
// that is not of GORM's type, so that the plugin does not understand the clause.
func onConflict(stmt *gorm.Statement) (conflict *clause.OnConflict, ok bool) {
	c, found := stmt.Clauses["ON CONFLICT"]
	if !found || c.Expression == nil {
		return nil, true
	}
	upsert, ok := c.Expression.(clause.OnConflict)
	if !ok {
		return nil, false
	}
	return &upsert, true
}

// updates reports whether the upsert updates an existing row, instead of DO NOTHING. An
// upsert without assignments counts too, because GORM then sets the key to itself.
func updates(c clause.OnConflict) bool { return !c.DoNothing }

// isPlainInsert reports whether the statement either inserts all its rows or fails.
// INSERT IGNORE skips rows, and INSERT OR REPLACE replaces existing rows.
func isPlainInsert(stmt *gorm.Statement) bool {
	c, found := stmt.Clauses["INSERT"]
	if !found {
		return true
	}
	insert, ok := c.Expression.(clause.Insert)
	return (ok || c.Expression == nil) && insert.Modifier == "" &&
		c.Builder == nil && c.BeforeExpression == nil && c.AfterNameExpression == nil && c.AfterExpression == nil
}

// gormAddsReturning reports whether GORM adds RETURNING to an INSERT on this database.
func gormAddsReturning(stmt *gorm.Statement) bool {
	return slices.Contains(stmt.BuildClauses, "RETURNING")
}

// canAddReturning reports whether the plugin can add the tagged columns to the columns
// that the statement returns, because it has no RETURNING or one of GORM's type.
func canAddReturning(stmt *gorm.Statement) bool {
	c, hasReturning := stmt.Clauses["RETURNING"]
	_, isGORMs := c.Expression.(clause.Returning)
	return !hasReturning || isGORMs
}

// isAll reports whether a RETURNING clause returns all columns. GORM takes each clause that is
// not of its own type for such a clause.
func isAll(expression clause.Expression) bool {
	r, ok := expression.(clause.Returning)
	return !ok || len(r.Columns) == 0 || len(r.Columns) == 1 && r.Columns[0].Name == "*"
}

// replacesList reports whether GORM replaces the elements of a list by the rows that RETURNING *
// returns. If an upsert updates rows, GORM writes the returned rows into the elements instead.
func replacesList(stmt *gorm.Statement) bool {
	conflict, _ := onConflict(stmt)
	updatesRows := conflict != nil && !conflict.DoNothing && (conflict.UpdateAll || len(conflict.DoUpdates) > 0)
	return returnsAll(stmt) && !updatesRows
}

// returnsAll reports whether the statement has RETURNING *.
func returnsAll(stmt *gorm.Statement) bool {
	c, hasReturning := stmt.Clauses["RETURNING"]
	return hasReturning && isAll(c.Expression)
}

// isList reports whether the statement creates a slice or an array, of structs or maps.
func isList(stmt *gorm.Statement) bool {
	kind := stmt.ReflectValue.Kind()
	return kind == reflect.Slice || kind == reflect.Array
}

// isMaps reports whether the statement creates a slice of maps. It returns false for one
// map.
func isMaps(stmt *gorm.Statement) bool {
	return isList(stmt) && stmt.ReflectValue.Type().Elem().Kind() == reflect.Map
}

// settable reports whether GORM can set fields of the rows, because the caller has not
// passed a copy.
func settable(stmt *gorm.Statement) bool {
	switch v := stmt.ReflectValue; v.Kind() {
	case reflect.Struct:
		return v.CanSet()
	case reflect.Array:
		return v.CanSet() || v.Type().Elem().Kind() == reflect.Pointer
	case reflect.Slice, reflect.Map:
		return true
	}
	return false
}
