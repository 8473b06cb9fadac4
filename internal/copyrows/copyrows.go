// Package copyrows converts the rows of a model to the form that COPY takes, which is a
// table, columns, and the values of one row after another. These are the values that
// GORM's Create would write.
//
// [New] returns an error for parts of a create that COPY would leave out (check), sets
// the keys as the create callback does ([fill.Create]), checks them ([guard.Check]), and
// chooses the columns (columnsOf). [Source.Values] then reads one row, and sets the time
// stamps and literal defaults that the row lacks ([column.value]).
package copyrows

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/fill"
	"github.com/gormflake/gormflake/internal/guard"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// New returns the source for value, which is a row or a list of rows, and sets the keys of
// these rows.
func New(db *gorm.DB, set *model.Set, value any) (*Source, error) {
	list, _, err := rowview.Target(value)
	if err != nil {
		return nil, fmt.Errorf("gormflake: CopySource: %w", err)
	}
	tx := db.Session(&gorm.Session{}).Model(value) // a new statement, so that db's stays unchanged
	stmt := tx.Statement
	stmt.Dest, stmt.ReflectValue = value, list
	if err := stmt.Parse(value); err != nil {
		return nil, fmt.Errorf("gormflake: CopySource: %T: %w", value, err)
	}
	s := &Source{stmt: stmt, now: tx.NowFunc(), at: -1} // before the first row
	if s.rows, err = rowview.Of(stmt); err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, fmt.Errorf("gormflake: CopySource: model %s: %w", stmt.Schema.Name, err)
	}
	// Call the plugin's callbacks of a create, which GORM does not run here.
	fill.Create(tx, set)
	fill.BeforeInsert(tx, set)
	guard.Check(tx)
	if tx.Error != nil {
		return nil, tx.Error // the caller's own error, or one that has the prefix gormflake
	}
	if s.columns, err = columnsOf(stmt, s.rows); err != nil {
		return nil, fmt.Errorf("gormflake: CopySource: model %s: %w", stmt.Schema.Name, err)
	}
	s.values = make([]any, len(s.columns))
	return s, nil
}

// check returns an error if COPY cannot write the rows as Create would, for example
// because of hooks, related rows or a nil row. It also sets s.table.
func (s *Source) check() (err error) {
	if s.table, err = tableOf(s.stmt); err != nil {
		return err
	}
	if err := checkModel(s.stmt); err != nil {
		return err
	}
	for i := range s.rows.N {
		if !s.rows.At(i).IsValid() {
			return fmt.Errorf("row %d is nil: remove it", i)
		}
	}
	return checkRelations(s.stmt, s.rows)
}

// checkModel returns an error if COPY would ignore a clause of the statement, a hook of the
// model, or a clause that a field of the model adds to creates.
func checkModel(stmt *gorm.Statement) error {
	for _, name := range []string{"INSERT", "ON CONFLICT", "RETURNING"} {
		if _, ok := stmt.Clauses[name]; ok {
			return fmt.Errorf("COPY has no %s clause: copy into a temporary table and insert from there, or use Create", name)
		}
	}
	if hook := hookOf(stmt.Schema); hook != "" && !stmt.SkipHooks {
		return fmt.Errorf("COPY does not call its hook %s: use Create, or skip hooks with db.Session(&gorm.Session{SkipHooks: true})", hook)
	}
	if stmt.Unscoped { // GORM then ignores the clauses of fields
		return nil
	}
	for _, c := range stmt.Schema.CreateClauses {
		if !guard.Guards(c) { // New itself calls the check of a types.ID key
			return fmt.Errorf("COPY does not apply %T, which a field adds to creates: use Create, or leave it out with db.Unscoped()", c)
		}
	}
	return nil
}

// hookOf returns the name of the first hook that a create of the model would call, or "".
func hookOf(s *schema.Schema) string {
	switch {
	case s.BeforeSave:
		return "BeforeSave"
	case s.BeforeCreate:
		return "BeforeCreate"
	case s.AfterCreate:
		return "AfterCreate"
	case s.AfterSave:
		return "AfterSave"
	}
	return ""
}

// checkRelations rejects rows with related rows that Create would save.
func checkRelations(stmt *gorm.Statement, rows rowview.Rows) error {
	for _, rel := range model.Relations(stmt.Schema) {
		if i := fill.Related(stmt, rows, rel); i >= 0 {
			return fmt.Errorf("row %d has %s, which COPY does not write: copy those rows on their own, and leave them out here with db.Omit(%q)",
				i, rel.Field.BindName(), rel.Name)
		}
	}
	return nil
}

// tableOf returns the parts of the table's name, without quotes. For example, it returns app
// and orders for app.orders. TableExpr is the argument of db.Table, in which GORM may have
// quoted the name. It may also be a query or have an alias, which tableOf rejects.
func tableOf(stmt *gorm.Statement) ([]string, error) {
	if stmt.TableExpr == nil {
		return strings.Split(stmt.Table, "."), nil
	}
	parts := strings.Split(stmt.TableExpr.SQL, ".")
	for i, part := range parts {
		name := strings.Trim(part, "\"`")
		isQuoted := name != part // a quoted name may contain blanks
		if name == "" || strings.ContainsAny(name, "\"`(?") || !isQuoted && strings.ContainsAny(name, " \t\n") {
			return nil, fmt.Errorf("COPY wants the name of a table, got %s", stmt.TableExpr.SQL)
		}
		parts[i] = name
	}
	return parts, nil
}
