package fill

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// prepare changes an upsert so that it reports the keys of existing rows, and does not
// overwrite the IDs that these rows have in other columns. For [confirmKeys], which runs
// after the INSERT, prepare also notes the keys and the elements of a list, because GORM may
// change the list in between.
func prepare(stmt *gorm.Statement, m *model.Model) error {
	if err := checkUpsert(stmt, m); err != nil {
		return err
	}
	conflict, _ := onConflict(stmt)
	if conflict != nil && keepIDs(stmt, m, conflict) { // keepIDs has changed conflict
		stmt.AddClause(*conflict)
	}
	report := reportOf(stmt, m)
	if report == unreported || report == byMark && isList(stmt) || isMaps(stmt) { // GORM may write keys into wrong elements
		rememberKeys(stmt, m)
	}
	if report == sameKeys { // every row keeps its key, as in an INSERT without an upsert
		return nil
	}
	noted := noteForWriting(stmt)
	noted.report = report
	// GORM may shorten the caller's slice to the rows that are returned, so note a slice of all
	// rows.
	if report == unreported && isList(stmt) && !isMaps(stmt) {
		noted.sentRows, _ = rowview.Of(stmt) // checkKeys has rejected rows for which this fails
		noted.sentRows.Value = sentList(noted.sentRows)
	}
	if conflict != nil {
		requestReport(stmt, m, *conflict, report)
	}
	return nil
}

// sentList returns the list of all rows that the statement sends. If the list has pointers,
// sentList returns a copy. GORM replaces the pointers of the caller's list by pointers to the
// rows that RETURNING * returns.
func sentList(rows rowview.Rows) reflect.Value {
	list := rows.Value
	switch {
	case list.Type().Elem().Kind() == reflect.Pointer:
		sent := reflect.MakeSlice(reflect.SliceOf(list.Type().Elem()), 0, rows.N)
		for i := range rows.N {
			sent = reflect.Append(sent, list.Index(i))
		}
		return sent
	case list.Kind() == reflect.Slice:
		return list.Slice(0, rows.N)
	}
	return list // an array of structs, which GORM does not shorten
}

// checkUpsert rejects an upsert of several rows if GORM cannot write the returned keys into
// them. GORM matches returned rows to the elements of a slice by their positions, so it needs
// every row. GORM appends returned rows to a slice of maps instead of changing the maps.
func checkUpsert(stmt *gorm.Statement, m *model.Model) error {
	c, isGORMs := onConflict(stmt)
	if !isList(stmt) || isGORMs && (c == nil || !updates(*c)) {
		return nil
	}
	// Without RETURNING, the plugin reads the keys from the table. On MySQL and MariaDB, it also
	// reads the keys of maps from the table, and ON DUPLICATE KEY UPDATE has no condition.
	if !gormAddsReturning(stmt) || stmt.Name() == "mysql" {
		return nil
	}
	if !isGORMs { // a clause of another type may update rows, by any column
		if _, returns := stmt.Clauses["RETURNING"]; isMaps(stmt) && (returns || len(returnedColumns(stmt)) > 0) {
			return errMaps
		}
		return nil
	}
	if len(c.Where.Exprs) > 0 && returnsOthers(stmt, m) {
		return errors.New("an upsert of a slice with a condition and RETURNING cannot tell which row a returned row is: create the rows one by one, or leave out Where or RETURNING")
	}
	// An existing row that is found by its key has the key of its struct, and so the serial
	// numbers that are made from the key.
	if covers(target(stmt, *c), columnsNotFromKey(m)) {
		return nil
	}
	switch {
	case isMaps(stmt):
		return errMaps
	case len(c.Where.Exprs) > 0:
		return errors.New("an upsert of a slice with a condition, by another column than the key, cannot return the keys that the rows have: create the rows one by one, or leave out Where")
	}
	return nil
}

// returnsOthers reports whether RETURNING names columns that [restoreKeys] does not write back.
// These are all columns except the tagged columns and the columns whose default only the
// database knows.
func returnsOthers(stmt *gorm.Statement, m *model.Model) bool {
	c, found := stmt.Clauses["RETURNING"]
	if !found || isAll(c.Expression) {
		return found
	}
	return slices.ContainsFunc(returnedColumns(stmt), func(name string) bool {
		f := stmt.Schema.LookUpField(name)
		return f == nil || !hasColumn(m, name) && !slices.Contains(stmt.Schema.FieldsWithDefaultDBValue, f)
	})
}

// errMaps rejects a slice of maps, to which GORM would append the rows that the database returns.
var errMaps = errors.New("an upsert of a slice of maps by another column than the key cannot return the keys that the rows have: create the maps one by one, or use structs")

// columnsNotFromKey returns the tagged columns of m, without the serial numbers that are made
// from the primary key. A serial number, such as PAY2022062816074010511260000, is made from
// the primary key if both use the same generator, which means that they are in one group.
func columnsNotFromKey(m *model.Model) []*model.Column {
	var columns []*model.Column
	for _, g := range m.Groups {
		columns = append(columns, g.Keys...)
		if g.Primary == nil {
			columns = append(columns, g.Serials...)
		}
	}
	return columns
}

// requestReport changes the upsert so that the statement reports the keys of existing rows
// in the way report, for example by MySQL's LastInsertId.
func requestReport(stmt *gorm.Statement, m *model.Model, conflict clause.OnConflict, report reportKind) {
	key := clause.Column{Name: identifier(stmt, m).Field.DBName}
	switch {
	case report == byReturning:
		returnKeys(stmt, m)
		if !updates(conflict) { // MariaDB returns an existing row only if it is updated, so set its key to itself
			conflict.DoNothing = false
			conflict.DoUpdates = clause.Set{{Column: key, Value: key}}
		}
	case report == byLastID: // MySQL returns the argument of LAST_INSERT_ID as the LastInsertId
		addAssignment(&conflict, key, reportKey{clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{key}}})
		keepResult(stmt)
	case report == byMark: // both branches of IF keep the key, and the condition sets the mark
		addAssignment(&conflict, key, reportKey{clause.Expr{SQL: fmt.Sprintf("IF(LAST_INSERT_ID(%d), ?, ?)", conflictMark), Vars: []any{key, key}}})
		keepResult(stmt)
	case !updates(conflict): // DO NOTHING, whose report is byCount or unreported
		returnDefaults(stmt)
	}
	stmt.AddClause(conflict)
}

// addAssignment adds an assignment to the upsert. It copies c.DoUpdates, because sessions
// share the clauses of a statement.
func addAssignment(c *clause.OnConflict, column clause.Column, value clause.Expression) {
	c.DoUpdates = append(slices.Clip(slices.Clone(c.DoUpdates)), clause.Assignment{Column: column, Value: value})
}

// keepResult makes GORM keep the result of the statement, because MySQL reports by its
// LastInsertId.
func keepResult(stmt *gorm.Statement) {
	if stmt.Result == nil {
		stmt.Result = gorm.WithResult()
	}
}
