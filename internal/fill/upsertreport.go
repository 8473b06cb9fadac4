package fill

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/internal/model"
)

// reportKind is the way in which an INSERT reports that a row of the table has another key
// than its struct, because an upsert found an existing row, for example by its unique email.
type reportKind int

const (
	sameKeys    reportKind = iota // every row has its struct's key, or the statement fails
	byReturning                   // GORM writes the keys that RETURNING returns into the structs
	byLastID                      // MySQL's LastInsertId is the key of the existing row
	byMark                        // MySQL's LastInsertId is conflictMark if the upsert found an existing row
	byCount                       // fewer rows are affected than there are structs
	unreported                    // the statement reports no keys, so findKeys must read them from the table
)

// conflictMark is the value that LastInsertId gets if the upsert found an existing row. It
// only has to differ from 0, which LastInsertId is after the INSERT of a new row. A counter
// may set LastInsertId to another value for a new row. findKeys then reads the keys from the
// table, although that is not necessary.
const conflictMark = 1

// reportOf returns the way in which the statement reports keys that differ from the structs'
// keys. It returns the same before and after [prepare] changes the statement, so that
// [confirmKeys] notices a callback that has changed the statement later.
func reportOf(stmt *gorm.Statement, m *model.Model) reportKind {
	conflict, ok := onConflict(stmt)
	switch {
	case !ok || !isPlainInsert(stmt): // may skip or replace any row, as INSERT IGNORE does
		return unreported
	case conflict == nil:
		return sameKeys
	case stmt.Name() == "mysql":
		return reportOfMySQL(stmt, m)
	case covers(target(stmt, *conflict), m.Columns) && !shifts(stmt, m, *conflict): // an existing row is found by its keys
		return sameKeys
	case !updates(*conflict):
		return reportOfDoNothing(stmt)
	case gormAddsReturning(stmt) && canReturn(stmt, *conflict) && canAddReturning(stmt):
		return byReturning
	}
	return unreported
}

// reportOfMySQL returns the way in which an upsert of MySQL or MariaDB reports keys. Their ON
// DUPLICATE KEY UPDATE finds a row by any unique key of the table, including keys that the
// model does not declare, so the plugin cannot know the target. Only MariaDB has RETURNING.
func reportOfMySQL(stmt *gorm.Statement, m *model.Model) reportKind {
	switch {
	case gormAddsReturning(stmt) && !isMaps(stmt) && settable(stmt) && canAddReturning(stmt):
		return byReturning
	// LastInsertId has room for one key, which must be an integer.
	case isList(stmt) || len(m.Columns) > 1 || len(stmt.Schema.PrimaryFields) > 1 || !m.Columns[0].Primary || m.Columns[0].Kind.IsString():
		return byMark
	}
	return byLastID
}

// reportOfDoNothing returns the way in which an INSERT with DO NOTHING reports that it has
// skipped existing rows. The count of affected rows is then smaller than the number of
// structs. For a list with RETURNING, the count reports nothing, because GORM also counts the
// skipped rows there.
func reportOfDoNothing(stmt *gorm.Statement) reportKind {
	_, hasReturning := stmt.Clauses["RETURNING"]
	if isList(stmt) && (hasReturning || gormAddsReturning(stmt) && len(stmt.Schema.FieldsWithDefaultDBValue) > 0) {
		return unreported
	}
	return byCount
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

// covers reports whether target, by which an upsert finds existing rows, contains all of
// columns. If columns are the tagged columns of the model, each row that the upsert finds then
// has the keys of its struct.
func covers(target []string, columns []*model.Column) bool {
	return !slices.ContainsFunc(columns, func(c *model.Column) bool {
		return !slices.Contains(target, c.Field.DBName)
	})
}

// canReturn reports whether GORM can write the returned keys into the rows. It cannot for a
// list if the upsert has a condition, because fewer rows may return than the list has, and
// GORM assigns them by position.
func canReturn(stmt *gorm.Statement, c clause.OnConflict) bool {
	return settable(stmt) && !isMaps(stmt) && (!isList(stmt) || len(c.Where.Exprs) == 0)
}

// reportKey is an SQL expression that sets a key to itself. By a function in the expression,
// it also sets MySQL's LastInsertId to the key (byLastID) or to conflictMark (byMark).
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

// shifts reports whether GORM may write the returned columns of a row into the struct of
// another row of a list, or may leave returned columns unset that the plugin can read. GORM
// assigns returned rows to structs by position. A row that DO NOTHING skips, or that the
// condition of the upsert leaves out, does not return, so that the rows after it shift. After DO
// NOTHING, GORM writes no row into a struct in which a returned column is set, as tagged columns
// are.
func shifts(stmt *gorm.Statement, m *model.Model, c clause.OnConflict) bool {
	if !isList(stmt) || !gormAddsReturning(stmt) {
		return false
	}
	returned := returnedColumns(stmt)
	if updates(c) {
		return len(c.Where.Exprs) > 0 && len(returned) > 0
	}
	// If the statement omits a tagged column, the structs get its value from the database. The
	// plugin cannot set structs that the caller has passed by value.
	return !readNote(stmt).omits && settable(stmt) && slices.ContainsFunc(returned, func(name string) bool { return !hasColumn(m, name) })
}

// returnedColumns returns the columns that the statement names in RETURNING or, without
// RETURNING, the columns for which GORM adds it. For RETURNING *, and for a clause of another
// type than GORM's, which GORM treats alike, it returns the primary keys and the columns whose
// default only the database knows.
func returnedColumns(stmt *gorm.Statement) (names []string) {
	c, found := stmt.Clauses["RETURNING"]
	if found && !isAll(c.Expression) {
		for _, column := range c.Expression.(clause.Returning).Columns {
			if key := stmt.Schema.PrioritizedPrimaryField; column.Name == clause.PrimaryKey && key != nil {
				column.Name = key.DBName
			}
			names = append(names, column.Name)
		}
		return names
	}
	fields := stmt.Schema.FieldsWithDefaultDBValue
	if found {
		fields = slices.Concat(stmt.Schema.PrimaryFields, fields)
	}
	for _, f := range fields {
		if f.Readable {
			names = append(names, f.DBName)
		}
	}
	return names
}

// hasColumn reports whether the column of this name is tagged.
func hasColumn(m *model.Model, name string) bool {
	return slices.ContainsFunc(m.Columns, func(c *model.Column) bool { return c.Field.DBName == name })
}
