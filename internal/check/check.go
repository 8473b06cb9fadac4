// Package check finds the mistakes of a model before the first row is created. They may
// be in a tag, in a column of the Go struct, in a foreign key, or in a column of the
// database's table.
//
// [Models] checks the models one by one. It checks their tags ([model.Set.Model]), the
// json tags of their IDs (checkJSON), their columns (checker.column), the foreign keys
// that refer to them (checker.reference) and other columns of IDs (checker.untagged). It
// reads the columns of each table once, by its own queries (readColumns), because GORM's
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
// once. It logs the warnings.
func Models(db *gorm.DB, set *model.Set, models ...any) error {
	c := checker{db: quiet(db), set: set, tables: map[string]table{}, foreign: map[*schema.Field]bool{}}
	var errs []error
	for _, m := range models {
		errs = append(errs, c.model(m)...)
	}
	// Only now all foreign keys are known, which are not checked as untagged columns
	// again.
	for _, s := range c.schemas {
		errs = append(errs, c.untagged(s)...)
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

// distinct splits joined errors and removes duplicates, because two models may share a
// mistake.
func distinct(errs []error) []error {
	seen := map[string]bool{}
	var rest []error
	for len(errs) > 0 {
		err := errs[0]
		errs = errs[1:]
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			errs = append(joined.Unwrap(), errs...)
			continue
		}
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			rest = append(rest, err)
		}
	}
	return rest
}

// model returns the mistakes of one model, and records its schema and foreign keys.
func (c *checker) model(value any) []error {
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(value); err != nil {
		return []error{fmt.Errorf("gormflake: check %T: %w", value, err)}
	}
	s := stmt.Schema
	errs := checkJSON(s)
	m := c.set.Model(s)
	errs = append(errs, m.Err)
	if len(m.Columns) == 0 && m.Err == nil && !m.LeftOut {
		return append(errs, fmt.Errorf("gormflake: model %s has no snowflake tag: tag its key snowflake:\"pk\", list it in WithModels, or leave it out of Check", s.Name))
	}
	for _, column := range m.Columns {
		errs = append(errs, c.column(column)...)
	}
	for _, ref := range m.References {
		c.foreign[ref.Foreign] = true
		errs = append(errs, c.reference(ref))
	}
	if m.Err != nil {
		return errs // the model may have no table yet
	}
	c.schemas = append(c.schemas, s)
	return append(errs, c.deleted(s))
}

// deleted returns an error if the table marks deleted rows in a column deleted_at, and the
// model has no field for that column. GORM would then read and update deleted rows.
func (c *checker) deleted(s *schema.Schema) error {
	const name = "deleted_at"
	if t := c.table(s.Table); s.LookUpField(name) != nil || t.find(c.db.Name(), name) == nil {
		return nil
	}
	return fmt.Errorf("gormflake: model %s has no field for column %s of table %s, so that rows which are marked as deleted reappear: add DeletedAt gorm.DeletedAt, or rename the column if it marks none", s.Name, name, s.Table)
}

// column checks a tagged column in its table or, if the table does not exist, in the
// model.
func (c *checker) column(column *model.Column) []error {
	live, err := c.live(column)
	errs := []error{checkAssigned(column), err}
	narrow := c.holds(column, live, func(text string) error { return mistake(column, text) })
	errs = append(errs, narrow)
	if live == nil {
		return errs
	}
	errs = append(errs, c.assigned(column, live))
	c.warnOfRowid(column, live)
	if narrow == nil { // otherwise the fix for the width also ends the padding
		errs = append(errs, checkPadding(c.db, column, live))
	}
	return errs
}

// untagged checks the columns of type types.ID that are neither tagged nor foreign keys.
// If such a column is too narrow, a server that is not strict truncates an ID.
func (c *checker) untagged(s *schema.Schema) (errs []error) {
	for _, f := range s.Fields {
		known := model.IsTagged(f) || s.FieldsByDBName[f.DBName] != f || c.foreign[f]
		if known || !model.IsID(f.IndirectFieldType) || f.Serializer != nil || !f.Creatable && !f.Updatable {
			continue
		}
		column := model.NewColumn(f)
		column.Kind, _ = model.KindOf(f.FieldType) // knows each form of an ID
		errs = append(errs, c.untaggedColumn(column))
	}
	return errs
}

// untaggedColumn checks an untagged column of an ID in its table or, while the table does
// not exist, in the model. A table may still lack the column.
func (c *checker) untaggedColumn(column *model.Column) error {
	t, text := c.table(column.Field.Schema.Table), ""
	live := t.find(c.db.Name(), column.Field.DBName)
	switch {
	case t.err != nil:
		return t.err
	case live != nil:
		text = c.inexact(column, live)
	case len(t.columns) == 0:
		text = c.declaredByTag(column)
	}
	if text != "" {
		return mistake(column, text)
	}
	if live != nil {
		return checkWidth(c.db, column, live)
	}
	return nil
}

// reference checks the column of a foreign key in its table or, if the table does not
// exist, in the model.
func (c *checker) reference(ref model.Reference) error {
	if ref.Err != nil {
		return fmt.Errorf("gormflake: %w", ref.Err)
	}
	// Another goroutine may still be parsing the key's model. Parse waits for it, and
	// returns an error if GORM cannot parse the model.
	stmt := &gorm.Statement{DB: c.db}
	if err := stmt.Parse(reflect.New(ref.Key.Field.Schema.ModelType).Interface()); err != nil {
		return fmt.Errorf("gormflake: check model %s: %w", ref.Foreign.Schema.Name, err)
	}
	blame := func(text string) error { return fmt.Errorf("gormflake: %w", ref.Error(text)) }
	foreign := model.NewColumn(ref.Foreign)
	foreign.Serial = ref.Key.Serial
	var err error
	if foreign.Kind, err = model.KindOf(ref.Foreign.FieldType); err != nil {
		return nil // the field's type has its own Scan, which accepts the key, or ref.Err would be set
	}
	if foreign.Serial != nil {
		if err := ref.Key.CheckWidth(ref.Foreign); err != nil {
			return blame(err.Error())
		}
	}
	live, err := c.live(foreign)
	if err := errors.Join(err, c.holds(foreign, live, blame)); err != nil {
		return err
	}
	if text := c.mixed(ref.Key, foreign); text != "" {
		return blame(text)
	}
	return nil
}

// holds returns an error if the column cannot hold every ID, because it is too narrow, or
// because the server also finds rows with other IDs when it compares the column with an
// ID. blame makes an error of the reason.
func (c *checker) holds(column *model.Column, live *liveColumn, blame func(text string) error) error {
	if text := c.inexact(column, live); text != "" {
		return blame(text)
	}
	return c.width(column, live, blame)
}

// width returns an error if the column is too narrow in its table or, if the table does
// not exist, in the model. If both are too narrow, the error is about the model, because
// that is what the developer has to change first.
func (c *checker) width(column *model.Column, live *liveColumn, blame func(text string) error) (err error) {
	if live != nil {
		if err = checkWidth(c.db, column, live); err == nil {
			return nil
		}
	}
	if text := declared(c.db.Name(), column); text != "" {
		return blame(text)
	}
	return err
}
