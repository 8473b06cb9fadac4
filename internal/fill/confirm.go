package fill

import (
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// confirmKeys runs after the INSERT, and ensures that each struct has the key of its row.
// First, restoreKeys writes back the keys that GORM may have overwritten in the structs. An
// upsert may also have found an existing row, whose key differs from the key of the struct.
// confirmKeys then sets the row's key in the struct. It learns the key from the report of the
// statement or, if the report does not suffice, from the table.
func confirmKeys(stmt *gorm.Statement, m *model.Model) error {
	report := reportOf(stmt, m)
	if err := errors.Join(checkSent(stmt, m, report), restoreKeys(stmt, m)); err != nil {
		return err
	}
	if report != readNote(stmt).report { // a callback has changed the statement since prepare
		report = unreported
	}
	switch report {
	case sameKeys: // every row has the key of its struct
		return nil
	case byReturning, byCount:
		// If as many rows are affected as there are structs, GORM has set all returned keys
		// (byReturning), or DO NOTHING has skipped no row (byCount). A known parent has the key
		// of its struct even if DO NOTHING has skipped it.
		if stmt.DB.RowsAffected >= int64(rowCount(stmt)) || report == byCount && isKnownParent(stmt, m) {
			return nil
		}
		if report == byReturning && isList(stmt) && stmt.DB.RowsAffected > 0 {
			// GORM has written the returned keys into the structs by position, so into wrong structs
			// if another than the last row is missing.
			return errors.New("the database returned fewer rows than the statement has, so that the keys are unknown: create the rows one by one")
		}
	case byLastID: // MySQL's LastInsertId is the key of the existing row
		if known, err := takeReportedKey(stmt, m); known || err != nil {
			return err
		}
	case byMark:
		// A single row was inserted if one row is affected and LastInsertId is 0. For a list,
		// neither number proves that all rows were inserted. RowsAffected counts an updated row
		// as 2 and an unchanged row as 0, so the two count as much as two new rows. LastInsertId
		// may lack the mark that an earlier row has set, because a trigger, or a counter of
		// another column, has replaced the mark.
		if id, ok := lastInsertID(stmt); ok && id == 0 && !isList(stmt) && stmt.DB.RowsAffected == 1 {
			return nil
		}
	}
	// A row may have another key than its struct, or the statement reports nothing (unreported).
	return findKeys(stmt, m)
}

// checkSent returns an error if a callback that ran after [BeforeInsert] has changed the
// statement so that the plugin cannot know the keys of its rows. An example is a list
// with RETURNING, in which GORM writes returned rows into the structs by their positions.
// checkSent also returns an error if a callback has left a key of the structs out of the INSERT.
func checkSent(stmt *gorm.Statement, m *model.Model, report reportKind) error {
	conflict, _ := onConflict(stmt)
	_, hasReturning := stmt.Clauses["RETURNING"]
	changed := report != readNote(stmt).report
	unknownKeys := changed && hasReturning && isList(stmt)
	// keepIDs has replaced UpdateAll, so a callback has set UpdateAll again. GORM would then
	// have overwritten the IDs of existing rows.
	overwritesIDs := conflict != nil && conflict.UpdateAll && hasNonPrimary(m)
	if unknownKeys || overwritesIDs {
		return errors.New("a callback has changed the upsert after the plugin had prepared it, so that the keys of its rows are unknown: register the callback before the plugin")
	}
	sent, ok := stmt.Clauses["VALUES"].Expression.(clause.Values)
	if !ok || readNote(stmt).omits { // no values to check, or the caller has omitted a column
		return nil
	}
	for _, c := range m.Columns {
		written := slices.ContainsFunc(sent.Columns, func(column clause.Column) bool { return column.Name == c.Field.DBName })
		// If GORM reads the column back after the INSERT, the struct gets the key of the row.
		if !written && !readsBack(stmt, c) && hasValue(stmt, c) {
			return fmt.Errorf("a callback has left %s, which the struct has, out of the statement after the plugin had prepared it: register the callback before the plugin", c.Field.BindName())
		}
	}
	return nil
}

// isKnownParent reports whether each row that DO NOTHING has skipped must have the key of its
// struct. An example is an existing parent, with its key, that GORM saves again before a new
// child. The conditions are that GORM saves the rows for a relation, that the plugin has
// filled no key, that a column of the primary key is tagged, and that the model declares no
// unique column besides the primary key. Then only the primary key can have made DO NOTHING
// skip a row, unless the table has a unique index that the model does not declare.
func isKnownParent(stmt *gorm.Statement, m *model.Model) bool {
	noted := readNote(stmt)
	return noted.nested && !noted.filled && len(m.Uniques(stmt.NamingStrategy)) == 0 && slices.ContainsFunc(stmt.Schema.PrimaryFields, model.IsTagged)
}

// rowCount returns the number of rows that the statement creates.
func rowCount(stmt *gorm.Statement) int {
	if isList(stmt) {
		return stmt.ReflectValue.Len()
	}
	return 1
}

// lastInsertID returns MySQL's LastInsertId, by which the upsert reports a key or
// [conflictMark]. It returns false if a callback has replaced the upsert. It also returns
// false if GORM has no result of the statement, because it has read returned rows.
func lastInsertID(stmt *gorm.Statement) (id int64, ok bool) {
	if stmt.Result == nil || stmt.Result.Result == nil || !reportsKey(stmt) {
		return 0, false
	}
	id, err := stmt.Result.Result.LastInsertId()
	return id, err == nil
}

// takeReportedKey sets the key of the statement's only row to MySQL's LastInsertId, if that
// is the key of the existing row that the upsert found. It returns false if the key is
// unknown.
//
// If the upsert found an existing row, LastInsertId is the key of that row, because
// requestReport has added the expression LAST_INSERT_ID(key). But LastInsertId is 0 if the
// table has a trigger. If the upsert inserted the row, one row is affected, and LastInsertId
// is 0 or the value that a counter assigned, perhaps to another column than the key.
func takeReportedKey(stmt *gorm.Statement, m *model.Model) (known bool, err error) {
	id, ok := lastInsertID(stmt)
	c := m.Columns[0]
	e := entriesOf(stmt, []*model.Column{c})[0]
	mayBeInserted := stmt.DB.RowsAffected == 1 // or, with clientFoundRows, a row that was found and not changed
	switch {
	case !ok || id == 0 && !mayBeInserted:
		return false, nil
	case id == 0 || id == c.Get(e.row).Int64():
		return true, nil
	case mayBeInserted:
		// LastInsertId may be the value of a counter. The upsert has inserted the row if the table
		// has a row with the key of the struct, which then keeps its key.
		own, err := rowsByID(stmt, m, c, []entry{e})
		if err != nil || len(own) > 0 {
			return true, err
		}
	}
	if !e.row.CanSet() {
		return true, errCopy
	}
	c.Set(e.row, types.ID(id))
	e.copyToMap([]*model.Column{c})
	return true, nil
}
