// Package fill contains the create callbacks. It gives IDs to the rows of a statement
// before GORM inserts the rows, and ensures that each struct has the key of its row after
// the INSERT.
//
// [Create] runs before all other callbacks, so that hooks see the keys. It counts the IDs
// that each generator has to supply (needs), gets all of them in one call
// ([model.Set.Generate]), and writes them (setKeys). For maps it fills structs and copies
// the keys to the maps (fillMaps).
//
// Hooks and other callbacks may change the statement after that. [BeforeInsert] therefore
// runs just before the INSERT and checks the statement in its final form. It adds the
// tagged columns to a Select (selectKeys), rejects a statement that omits a key
// (checkOmitted), rejects rows that lack a key (checkKeys), and changes an upsert so that
// it reports the keys of existing rows (prepare.go).
//
// [AfterInsert] runs after the INSERT and before GORM saves has-one and has-many
// relations. If the INSERT may have skipped a row, or may have found an existing row with
// another key, AfterInsert takes the keys from the statement's report or from the table
// (confirm.go), so that the struct and its children get the key of the row.
package fill

import (
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// Create sets the keys that the rows of a create lack. It runs before all other callbacks,
// so that user hooks see the keys, and GORM opens no transaction if the generator fails.
func Create(db *gorm.DB, set *model.Set) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	m := set.Model(stmt.Schema)
	if err := errors.Join(m.Err, checkRelated(stmt, m)); err != nil {
		_ = db.AddError(err)
		return
	}
	// Under guard.Skip, the caller or the database sets the keys.
	if len(m.Columns) == 0 || guard.Skipped(stmt.Context) {
		return
	}
	beginNote(stmt) // forget what an earlier statement noted
	err := checkUpsert(stmt, m)
	if err == nil {
		err = fillDest(stmt, set, m, true /* parentsToCome */)
	}
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormflake: model %s: %w", stmt.Schema.Name, err))
	}
}

// BeforeUpdate runs before all other callbacks of an update. GORM also saves related rows in
// updates, for example in Association.Append and in Save of an existing parent. BeforeUpdate
// adds an error if the foreign key of such a row, for example an int32 Line.OrderID, cannot
// hold the key of the statement's row.
func BeforeUpdate(db *gorm.DB, set *model.Set) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	if err := checkRelated(stmt, set.Model(stmt.Schema)); err != nil {
		_ = db.AddError(err)
	}
}

// BeforeInsert runs just before the INSERT, after all hooks. If a row gets its key from a
// parent, [Create] has left the row's serial number unset, and BeforeInsert now fills it.
// BeforeInsert then rejects rows that lack a key, and changes an upsert so that it reports
// the keys of existing rows.
func BeforeInsert(db *gorm.DB, set *model.Set) {
	stmt := db.Statement
	// GORM builds no INSERT if another callback has written the SQL of the statement.
	if db.Error != nil || stmt.Schema == nil || stmt.SQL.Len() > 0 {
		return
	}
	m := set.Model(stmt.Schema)
	if len(m.Columns) == 0 {
		return
	}
	if guard.Skipped(stmt.Context) { // the caller or the database sets the keys
		reject(db, checkSkipped(stmt, m))
		return
	}
	// If a row of the statement gets its key from a parent, Create has left the serial numbers
	// that are made from the key unset. GORM has saved the parents since.
	if slices.ContainsFunc(m.Groups, (*model.Group).KeyIsForeign) {
		if err := fillDest(stmt, set, m, false /* parentsToCome */); err != nil {
			_ = db.AddError(fmt.Errorf("gormflake: model %s: %w", stmt.Schema.Name, err))
			return
		}
	}
	if err := checkKeys(stmt, m); err != nil {
		reject(db, err)
		return
	}
	if err := prepare(stmt, m); err != nil {
		reject(db, fmt.Errorf("model %s: %w", stmt.Schema.Name, err))
	}
}

// AfterInsert runs after the INSERT and before GORM saves has-one, has-many and many-to-many
// relations. If the INSERT may have found existing rows, AfterInsert sets the keys of these
// rows in the structs.
func AfterInsert(db *gorm.DB, set *model.Set) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || stmt.DryRun {
		return
	}
	m := set.Model(stmt.Schema)
	// Under guard.Skip, the caller or the database sets the keys.
	if len(m.Columns) == 0 || guard.Skipped(stmt.Context) {
		return
	}
	if err := confirmKeys(stmt, m); err != nil {
		_ = db.AddError(fmt.Errorf("gormflake: model %s: %w", stmt.Schema.Name, err))
	}
}

// checkRelated returns an error if GORM is going to save a related row whose foreign key
// cannot hold the key of the row of the statement. m.Refused contains these foreign keys.
func checkRelated(stmt *gorm.Statement, m *model.Model) error {
	if len(m.Refused) == 0 {
		return nil
	}
	rows, _ := rowview.Of(stmt) // fillDest reports the error of rowview.Of
	for _, refused := range m.Refused {
		if Related(stmt, rows, refused.Relation) >= 0 {
			return fmt.Errorf("gormflake: %w", refused.Err)
		}
	}
	return nil
}

// reject ends a create with err, if it is not nil. It also removes the INSERT from the
// statement, so that a later callback cannot build it in spite of the error.
func reject(db *gorm.DB, err error) {
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormflake: %w", err))
		db.Statement.BuildClauses = nil
	}
}
