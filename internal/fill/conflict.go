package fill

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// report is the way in which an INSERT reports that a row of the table has another key
// than its struct, because an upsert found an existing row.
type report int

const (
	none      report = iota // every row has its struct's key, or the statement fails
	returning               // GORM writes the returned keys into the structs
	lastID                  // MySQL's LastInsertId is the key of the existing row
	marked                  // MySQL's LastInsertId is conflictMark if the upsert found an existing row
	counted                 // fewer rows are affected than there are structs
	silent                  // the statement reports no keys, so find must read them from the table
)

// conflictMark is the value that LastInsertId gets for an existing row. No row has it as
// its key.
const conflictMark = 1

// returns reports whether GORM adds RETURNING to an INSERT on this database.
func returns(stmt *gorm.Statement) bool { return slices.Contains(stmt.BuildClauses, "RETURNING") }

// onConflict returns the upsert of the statement, or nil if there is none. It returns
// false if the statement has an ON CONFLICT clause that the plugin does not understand.
func onConflict(stmt *gorm.Statement) (conflict *clause.OnConflict, ok bool) {
	c, found := stmt.Clauses["ON CONFLICT"]
	if !found || c.Expression == nil {
		return nil, true
	}
	upsert, ok := c.Expression.(clause.OnConflict)
	return &upsert, ok
}

// reportOf returns how the statement reports keys that differ from the structs' keys. It
// reads the statement in its final form, whether or not [prepare] has changed it.
func reportOf(stmt *gorm.Statement, m *model.Model) report {
	conflict, ok := onConflict(stmt)
	switch {
	case !ok || !isPlainInsert(stmt):
		return silent
	case conflict == nil:
		return none
	case stmt.Name() == "mysql":
		return reportOfMySQL(stmt, m)
	case covers(target(stmt, *conflict), m.Columns):
		return none
	case !updates(*conflict):
		return reportOfNothing(stmt)
	case returns(stmt) && canReturn(stmt, *conflict) && ownReturning(stmt):
		return returning
	}
	return silent
}

// reportOfMySQL returns the report on MySQL and MariaDB. These have no conflict target.
// They find a row by any unique key of the table, including keys that the model does not
// declare.
func reportOfMySQL(stmt *gorm.Statement, m *model.Model) report {
	switch {
	case returns(stmt) && !isMaps(stmt) && settable(stmt) && ownReturning(stmt):
		return returning
	case isList(stmt) || len(m.Columns) > 1 || len(stmt.Schema.PrimaryFields) > 1 || !m.Columns[0].Primary || m.Columns[0].Kind.IsString():
		return marked
	}
	return lastID
}

// reportOfNothing returns the report of DO NOTHING. It does not rely on the count of
// affected rows for a list with RETURNING, because GORM also counts the rows that it
// skips.
func reportOfNothing(stmt *gorm.Statement) report {
	_, given := stmt.Clauses["RETURNING"]
	if isList(stmt) && (given || returns(stmt) && len(stmt.Schema.FieldsWithDefaultDBValue) > 0) {
		return silent
	}
	return counted
}

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

// updates reports whether the upsert updates an existing row. An upsert without
// assignments counts too, because GORM then sets the key to itself.
func updates(c clause.OnConflict) bool { return !c.DoNothing }

func isList(stmt *gorm.Statement) bool {
	kind := stmt.ReflectValue.Kind()
	return kind == reflect.Slice || kind == reflect.Array
}

func isMaps(stmt *gorm.Statement) bool {
	return isList(stmt) && stmt.ReflectValue.Type().Elem().Kind() == reflect.Map
}

// ownReturning reports whether the plugin can add the tagged columns to the columns that
// the statement returns, because it has no RETURNING or one of GORM's type.
func ownReturning(stmt *gorm.Statement) bool {
	c, given := stmt.Clauses["RETURNING"]
	_, known := c.Expression.(clause.Returning)
	return !given || known
}

// prepare changes an upsert so that it reports the keys of existing rows, and does not
// overwrite the IDs that these rows have in other columns.
func prepare(stmt *gorm.Statement, m *model.Model) error {
	if err := checkUpsert(stmt, m); err != nil {
		return err
	}
	conflict, _ := onConflict(stmt)
	if conflict != nil && keepIDs(stmt, m, conflict) {
		stmt.AddClause(*conflict)
	}
	how := reportOf(stmt, m)
	if how == silent || isMaps(stmt) {
		remember(stmt, m)
	}
	if how == none {
		return nil
	}
	noted := noteOf(stmt)
	noted.report = how
	if how == silent && stmt.ReflectValue.Kind() == reflect.Slice && !isMaps(stmt) {
		noted.rows, _ = rowview.Of(stmt) // look has rejected rows for which this fails
		noted.rows.Value = noted.rows.Value.Slice(0, noted.rows.N)
	}
	if conflict != nil {
		ask(stmt, m, *conflict, how)
	}
	return nil
}

// ask changes the statement so that it reports the keys in the way how.
func ask(stmt *gorm.Statement, m *model.Model, conflict clause.OnConflict, how report) {
	key := clause.Column{Name: identifier(stmt, m).Field.DBName}
	switch {
	case how == returning:
		returnKeys(stmt, m)
		if !updates(conflict) { // MariaDB returns a row only if it updates it
			conflict.DoNothing = false
			conflict.DoUpdates = clause.Set{{Column: key, Value: key}}
		}
	case how == lastID:
		update(&conflict, key, reportKey{clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{key}}})
		keepResult(stmt)
	case how == marked:
		update(&conflict, key, reportKey{clause.Expr{SQL: fmt.Sprintf("IF(LAST_INSERT_ID(%d), ?, ?)", conflictMark), Vars: []any{key, key}}})
		keepResult(stmt)
	case !updates(conflict):
		returnDefaults(stmt)
	}
	stmt.AddClause(conflict)
}

// reportKey is an SQL expression that sets a key to itself and reports it as MySQL's
// LastInsertId.
type reportKey struct{ clause.Expr }

// reportsKey reports whether the upsert that was sent still has a [reportKey]. A callback
// may have replaced the upsert since [prepare].
func reportsKey(stmt *gorm.Statement) bool {
	conflict, _ := onConflict(stmt)
	return conflict != nil && slices.ContainsFunc(conflict.DoUpdates, func(a clause.Assignment) bool {
		_, ok := a.Value.(reportKey)
		return ok
	})
}

// update adds an assignment to a copy of c.DoUpdates, because sessions share the clauses
// of a statement.
func update(c *clause.OnConflict, column clause.Column, value clause.Expression) {
	c.DoUpdates = append(slices.Clip(slices.Clone(c.DoUpdates)), clause.Assignment{Column: column, Value: value})
}

// identifier returns the column by which the plugin finds a row again. It is the model's
// only primary key if that is tagged, and otherwise the first tagged column.
func identifier(stmt *gorm.Statement, m *model.Model) *model.Column {
	i := slices.IndexFunc(m.Columns, func(c *model.Column) bool {
		return c.Field.PrimaryKey && len(stmt.Schema.PrimaryFields) == 1
	})
	return m.Columns[max(i, 0)]
}

// keepResult makes GORM keep the result of the statement, in which MySQL reports a key.
func keepResult(stmt *gorm.Statement) {
	if stmt.Result == nil {
		stmt.Result = gorm.WithResult()
	}
}

// returnKeys makes the statement return the tagged columns. A row that the upsert finds
// by another unique column keeps its keys, and GORM writes them into the struct.
func returnKeys(stmt *gorm.Statement, m *model.Model) {
	c, given := stmt.Clauses["RETURNING"]
	if !given {
		stmt.AddClause(clause.Returning{Columns: returned(stmt.Schema, m)})
		nameAsColumns(stmt, m)
		return
	}
	if isAll(c.Expression) {
		return
	}
	columns := c.Expression.(clause.Returning).Columns
	missing := slices.DeleteFunc(keysReturned(stmt.Schema, m), func(c clause.Column) bool {
		return slices.ContainsFunc(columns, func(given clause.Column) bool { return given.Name == c.Name })
	})
	if len(missing) > 0 {
		stmt.AddClause(clause.Returning{Columns: missing})
		nameAsColumns(stmt, m)
	}
}

// isAll reports whether a RETURNING returns all columns.
func isAll(returning clause.Expression) bool {
	r, ok := returning.(clause.Returning)
	return ok && (len(r.Columns) == 0 || len(r.Columns) == 1 && r.Columns[0].Name == "*")
}

// returnDefaults makes DO NOTHING return the defaults that the database chose. It does
// not return the keys, because GORM skips each struct in which a returned column is
// already set.
func returnDefaults(stmt *gorm.Statement) {
	if _, given := stmt.Clauses["RETURNING"]; given || !returns(stmt) {
		return
	}
	var columns []clause.Column
	for _, f := range stmt.Schema.FieldsWithDefaultDBValue {
		if f.Readable && !model.IsTagged(f) {
			columns = append(columns, clause.Column{Name: f.DBName})
		}
	}
	if len(columns) > 0 {
		stmt.AddClause(clause.Returning{Columns: columns})
	}
}

// keepIDs makes UpdateAll leave out the tagged columns, because an existing row keeps its
// IDs and serial numbers. GORM chooses the columns of UpdateAll while it builds the
// statement. If one of them is tagged, keepIDs chooses the columns by GORM's rules
// itself, and reports that it changed c.
func keepIDs(stmt *gorm.Statement, m *model.Model, c *clause.OnConflict) bool {
	if !c.UpdateAll || !hasOther(m) {
		return false
	}
	if len(c.Columns) == 0 && c.OnConstraint == "" {
		for _, f := range stmt.Schema.PrimaryFields {
			c.Columns = append(slices.Clip(c.Columns), clause.Column{Name: f.DBName})
		}
	}
	c.UpdateAll = false
	c.DoUpdates = slices.Concat(c.DoUpdates, updatesOf(stmt, m))
	c.DoNothing = len(c.DoUpdates) == 0
	return true
}

// hasOther reports whether the model has a tagged column that is not a primary key.
func hasOther(m *model.Model) bool {
	return slices.ContainsFunc(m.Columns, func(c *model.Column) bool { return !c.Field.PrimaryKey })
}

// updatesOf returns the assignments that GORM would make for UpdateAll, without the
// tagged columns.
func updatesOf(stmt *gorm.Statement, m *model.Model) (set clause.Set) {
	named, restricted := stmt.SelectAndOmitColumns(true, true)
	now := stmt.DB.NowFunc()
	for _, name := range stmt.Schema.DBNames {
		f := stmt.Schema.FieldsByDBName[name]
		selected, given := named[name]
		isTagged := slices.ContainsFunc(m.Columns, func(c *model.Column) bool { return c.Field == f })
		chosen := !f.HasDefaultValue || f.DefaultValueInterface != nil
		if isTagged || f.PrimaryKey || !chosen || f.AutoCreateTime > 0 || !selected && (given || restricted) || !inserts(stmt, f) {
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

// inserts reports whether the statement has a value for the column. Maps may lack it.
func inserts(stmt *gorm.Statement, f *schema.Field) bool {
	maps, ok := rowview.Maps(stmt.Dest)
	return !ok || slices.ContainsFunc(maps, func(values map[string]any) bool {
		_, found := values[nameIn(values, f)]
		return found
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

// nameAsColumns renames the keys of maps to the names of the columns, because GORM writes
// the values that the database returns under these names.
func nameAsColumns(stmt *gorm.Statement, m *model.Model) {
	maps, _ := rowview.Maps(stmt.Dest)
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

// target returns the columns by which the upsert finds existing rows, or nil if they are
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

// covers reports whether target contains all columns. An existing row that the upsert
// finds by all key columns has the keys of its struct.
func covers(target []string, columns []*model.Column) bool {
	return !slices.ContainsFunc(columns, func(c *model.Column) bool {
		return !slices.Contains(target, c.Field.DBName)
	})
}

// checkUpsert rejects an upsert of several rows if GORM cannot assign the returned keys.
// GORM matches returned rows to the elements of a slice by their positions, so every row
// must return. To a slice of maps it appends the returned rows.
func checkUpsert(stmt *gorm.Statement, m *model.Model) error {
	c, _ := onConflict(stmt)
	if c == nil || !updates(*c) || !returns(stmt) || !isList(stmt) || stmt.Name() == "mysql" || covers(target(stmt, *c), underived(m)) {
		return nil
	}
	switch {
	case isMaps(stmt):
		return errors.New("an upsert of a slice of maps by another column than the key cannot return the keys that the rows have: create the maps one by one, or use structs")
	case len(c.Where.Exprs) > 0:
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

// canReturn reports whether GORM can write the returned keys into the value.
func canReturn(stmt *gorm.Statement, c clause.OnConflict) bool {
	return settable(stmt) && !isMaps(stmt) && (!isList(stmt) || len(c.Where.Exprs) == 0)
}

// settable reports whether GORM can set fields of the value, which is not a copy.
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

// returned returns the key columns, and the columns that GORM would return by itself.
// GORM adds no column to an existing RETURNING, so the plugin lists them.
func returned(s *schema.Schema, m *model.Model) []clause.Column {
	return columnsOf(slices.Concat(keyFields(s, m), s.FieldsWithDefaultDBValue))
}

func keysReturned(s *schema.Schema, m *model.Model) []clause.Column {
	return columnsOf(keyFields(s, m))
}

// keyFields returns the primary keys and the tagged fields.
func keyFields(s *schema.Schema, m *model.Model) []*schema.Field {
	fields := slices.Clone(s.PrimaryFields)
	for _, c := range m.Columns {
		fields = append(fields, c.Field)
	}
	return fields
}

// columnsOf returns the columns of the readable fields, each once.
func columnsOf(fields []*schema.Field) (columns []clause.Column) {
	for _, f := range fields {
		c := clause.Column{Name: f.DBName}
		if f.Readable && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}
