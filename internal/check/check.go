// Package check finds the mistakes of a model before the first row is created. A mistake may
// be in a tag, in a field of the Go struct, in a foreign key, or in a column of the
// database's table.
//
// [Models] checks the models one by one. It checks the tags of a model ([model.Set.Model]),
// the json tags of its IDs (checkJSON), its tagged columns (checkColumn), the foreign keys
// that refer to tagged columns (checkReference), and other columns of IDs (checkUntagged).
// It reads the columns of each table once, by its own queries (readColumns), because GORM's
// migrators drop errors.
package check

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// Models returns the mistakes of all models in a joined error that contains each mistake
// once. It logs a warning for each SQLite table that assigns a key to a row without one
// (warnOfRowid).
func Models(db *gorm.DB, set *model.Set, models ...any) error {
	c := checker{db: quietSession(db), set: set, tables: map[string]table{}, foreign: map[*schema.Field]bool{}}
	var errs []error
	for _, m := range models {
		errs = append(errs, c.checkModel(m)...)
	}
	// This loop comes second, because it needs the results of the first for all models.
	// checkUntagged skips the foreign keys that checkModel has checked. CheckJoinTable compares
	// the join tables that GORM generates with the models. If a model has the same table and a
	// tagged column that the join table lacks, GORM would insert rows without an ID.
	for _, s := range c.schemas {
		errs = append(errs, c.checkUntagged(s)...)
		for _, rel := range model.Relations(s) {
			if rel.JoinTable != nil {
				errs = append(errs, set.CheckJoinTable(rel.JoinTable))
			}
		}
	}
	for _, warning := range c.warnings {
		db.Logger.Warn(db.Statement.Context, "%s", warning)
	}
	return errors.Join(distinct(errs)...)
}

// distinct returns the errors without nil and without repetitions, because two models may
// share a mistake. It replaces a joined error by the errors that were joined, so that it
// finds repetitions among these too.
func distinct(errs []error) []error {
	seen := map[string]bool{}
	var unique []error
	for len(errs) > 0 {
		err := errs[0]
		errs = errs[1:]
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			errs = append(joined.Unwrap(), errs...)
			continue
		}
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			unique = append(unique, err)
		}
	}
	return unique
}

// checkModel returns the mistakes of one model, and records its schema and foreign keys.
func (c *checker) checkModel(value any) []error {
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(value); err != nil {
		return []error{fmt.Errorf("gormflake: check %T: %w", value, err)}
	}
	s := stmt.Schema
	errs := checkJSON(s)
	m := c.set.Model(s)
	errs = append(errs, m.Err)
	if len(m.Columns) == 0 && m.Err == nil && !m.LeftOut { // LeftOut is set by the tag snowflake:"-"
		return append(errs, fmt.Errorf("gormflake: model %s has no snowflake tag: tag its key snowflake:\"pk\", list it in WithModels, or leave it out of Check", s.Name))
	}
	for _, column := range m.Columns {
		errs = append(errs, c.checkColumn(column)...)
	}
	for _, ref := range m.References {
		c.foreign[ref.Foreign] = true
		errs = append(errs, c.checkReference(ref))
	}
	if m.Err != nil { // a tag or a foreign key of the model is wrong
		return errs // the other checks read the table, which may not exist before m.Err is corrected
	}
	c.schemas = append(c.schemas, s)
	return append(errs, c.checkDeletedAt(s))
}

// checkDeletedAt returns an error if the table has a column deleted_at, in which programs
// mark deleted rows, and the model has no field for this column. GORM would then read and
// update rows that are marked as deleted.
func (c *checker) checkDeletedAt(s *schema.Schema) error {
	const name = "deleted_at"
	if t := c.readTable(s.Table); s.LookUpField(name) != nil || t.find(c.db.Name(), name) == nil {
		return nil
	}
	return fmt.Errorf("gormflake: model %s has no field for column %s of table %s, so that rows which are marked as deleted reappear: add DeletedAt gorm.DeletedAt, or rename the column if it marks none", s.Name, name, s.Table)
}

// checkColumn returns the mistakes of a tagged column. It checks the column in the table or,
// if the table does not exist, in the model. It is a mistake if the column cannot hold the
// keys, or if GORM or the database assigns them. It is also a mistake if the table lacks the
// column, or if the column pads the keys.
func (c *checker) checkColumn(column *model.Column) []error {
	live, err := c.findColumn(column) // the column as the database describes it, or nil
	errs := []error{checkDeclaredAssigned(column), err}
	widthErr := c.checkHolds(column, live, func(text string) error { return columnError(column, text) })
	errs = append(errs, widthErr)
	if live == nil {
		return errs
	}
	errs = append(errs, c.checkLiveAssigned(column, live))
	c.warnOfRowid(column, live)
	if widthErr == nil { // the fix for a wrong width also ends the padding
		errs = append(errs, checkPadding(c.db, column, live))
	}
	return errs
}

// checkUntagged checks the columns of type types.ID or types.Of that are neither tagged nor
// foreign keys. If such a column is too narrow, a server that is not strict truncates an ID.
// checkUntagged skips a field that GORM never writes, and a field with a serializer, which
// may store another type.
func (c *checker) checkUntagged(s *schema.Schema) (errs []error) {
	for _, f := range s.Fields {
		// hasColumn is not set if the field has no column, or if another field shadows it.
		hasColumn := s.FieldsByDBName[f.DBName] == f
		isChecked := model.IsTagged(f) || c.foreign[f]
		if !hasColumn || isChecked || !model.IsID(f.IndirectFieldType) || f.Serializer != nil || !f.Creatable && !f.Updatable {
			continue
		}
		column := model.NewColumn(f)
		column.Kind, _ = model.KindOf(f.FieldType) // returns no error for a types.ID or a pointer to it
		errs = append(errs, c.checkUntaggedColumn(column))
	}
	return errs
}

// checkUntaggedColumn checks an untagged column of an ID in its table or, while the table
// does not exist, in the model. It accepts a table that still lacks the column.
func (c *checker) checkUntaggedColumn(column *model.Column) error {
	t, text := c.readTable(column.Field.Schema.Table), ""
	live := t.find(c.db.Name(), column.Field.DBName)
	switch {
	case t.err != nil:
		return t.err
	case live != nil:
		text = c.inexactReason(column, live)
	case len(t.columns) == 0:
		text = c.tagProblem(column)
	}
	if text != "" {
		return columnError(column, text)
	}
	if live != nil {
		return checkLiveWidth(c.db, column, live)
	}
	return nil
}

// checkReference returns the mistake of a foreign key, or nil. It checks the Go type of the
// foreign key, and then the column in the table or, if the table does not exist, in the
// model.
func (c *checker) checkReference(ref model.Reference) error {
	if ref.Err != nil {
		return fmt.Errorf("gormflake: %w", ref.Err)
	}
	// Another goroutine may still be parsing the key's model. Parse waits for it, and
	// returns an error if GORM cannot parse the model.
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(reflect.New(ref.Key.Field.Schema.ModelType).Interface()); err != nil {
		return fmt.Errorf("gormflake: check model %s: %w", ref.Foreign.Schema.Name, err)
	}
	// blame returns an error that names the foreign key.
	blame := func(text string) error { return fmt.Errorf("gormflake: %w", ref.Error(text)) }
	foreign := model.NewColumn(ref.Foreign)
	foreign.Serial = ref.Key.Serial
	var err error
	if foreign.Kind, err = model.KindOf(ref.Foreign.FieldType); err != nil {
		return nil // a type with its own Scan, which accepts the key, because ref.Err is nil
	}
	if foreign.Serial != nil {
		if err := ref.Key.CheckWidth(ref.Foreign); err != nil {
			return blame(err.Error())
		}
	}
	live, err := c.findColumn(foreign)
	if err := errors.Join(err, c.checkHolds(foreign, live, blame)); err != nil {
		return err
	}
	if text := c.mixedReason(ref.Key, foreign); text != "" {
		return blame(text)
	}
	return nil
}

// checkHolds returns an error if the column is too narrow for some IDs. It also returns an
// error if a query for an ID would find rows with other IDs too, because MySQL compares a
// text column with a number as floating point. blame returns the error for a reason, for
// example with the name of the field. live is nil if the table or the column does not exist.
func (c *checker) checkHolds(column *model.Column, live *liveColumn, blame func(text string) error) error {
	if text := c.inexactReason(column, live); text != "" {
		return blame(text)
	}
	return c.checkWidth(column, live, blame)
}

// checkWidth returns an error if the column is too narrow in the table or, if live is nil, in
// the model. live is nil if the table or the column does not exist. If the column is too
// narrow in both, the error is about the model, because the developer has to change the model
// first.
func (c *checker) checkWidth(column *model.Column, live *liveColumn, blame func(text string) error) (err error) {
	if live != nil {
		if err = checkLiveWidth(c.db, column, live); err == nil {
			return nil
		}
	}
	if text := declaredProblem(c.db.Name(), column); text != "" {
		return blame(text)
	}
	return err
}
