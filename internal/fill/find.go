package fill

import (
	"cmp"
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
	"github.com/gormflake/gormflake/types"
)

// confirm sets the keys of the table's rows in the structs, if the statement reports that
// a row has another key than its struct, or that it may have another key.
func confirm(stmt *gorm.Statement, m *model.Model) error {
	how := reportOf(stmt, m)
	if err := errors.Join(checkSent(stmt, m, how), restore(stmt, m)); err != nil {
		return err
	}
	if how != noted(stmt).report { // a callback has changed the statement since prepare
		how = silent
	}
	switch how {
	case none:
		return nil
	case returning, counted:
		if stmt.DB.RowsAffected >= int64(count(stmt)) || how == counted && isKnownParent(stmt, m) {
			return nil
		}
	case lastID:
		if id, ok := lastInsertID(stmt); ok {
			return takeLastID(stmt, m.Columns[0], id)
		}
	case marked:
		if id, ok := lastInsertID(stmt); ok && id != conflictMark {
			return nil
		}
	}
	return find(stmt, m)
}

// checkSent returns an error if a callback that ran after [BeforeInsert] has changed the
// statement so that the plugin cannot know the keys of its rows. An example is a list
// with RETURNING, in which GORM writes returned rows into the structs by their positions.
func checkSent(stmt *gorm.Statement, m *model.Model, how report) error {
	conflict, _ := onConflict(stmt)
	_, returned := stmt.Clauses["RETURNING"]
	changed := how != noted(stmt).report
	if changed && returned && isList(stmt) || conflict != nil && conflict.UpdateAll && hasOther(m) {
		return errors.New("a callback has changed the upsert after the plugin had prepared it, so that the keys of its rows are unknown: register the callback before the plugin")
	}
	sent, ok := stmt.Clauses["VALUES"].Expression.(clause.Values)
	if !ok || noted(stmt).omits {
		return nil
	}
	for _, c := range m.Columns {
		written := slices.ContainsFunc(sent.Columns, func(column clause.Column) bool { return column.Name == c.Field.DBName })
		if !written && !readsBack(stmt, c) && hasValue(stmt, c) {
			return fmt.Errorf("a callback has left %s, which the struct has, out of the statement after the plugin had prepared it: register the callback before the plugin", c.Field.BindName())
		}
	}
	return nil
}

// isKnownParent reports whether GORM has saved parents whose keys are those of their
// rows. The program has read such parents before, because the plugin has filled none of
// their keys, and the model declares no other unique column by which an upsert could find
// another row.
func isKnownParent(stmt *gorm.Statement, m *model.Model) bool {
	noted := noted(stmt)
	return noted.nested && !noted.filled && len(m.Uniques(stmt.NamingStrategy)) == 0
}

func count(stmt *gorm.Statement) int {
	if isList(stmt) {
		return stmt.ReflectValue.Len()
	}
	return 1
}

// lastInsertID returns MySQL's LastInsertId. It returns false if a callback has replaced
// the upsert, or if GORM has read returned rows and so has no result.
func lastInsertID(stmt *gorm.Statement) (id int64, ok bool) {
	if stmt.Result == nil || stmt.Result.Result == nil || !reportsKey(stmt) {
		return 0, false
	}
	id, err := stmt.Result.Result.LastInsertId()
	return id, err == nil
}

// takeLastID sets the struct's key to id, the key of the existing row that the upsert
// found. After an INSERT id is 0, or the struct's own key if the column has a counter,
// and takeLastID changes nothing.
func takeLastID(stmt *gorm.Statement, c *model.Column, id int64) error {
	e := entriesOf(stmt, []*model.Column{c})[0]
	if id == 0 || id == c.Get(e.row).Int64() {
		return nil
	}
	if !e.row.CanSet() {
		return errCopy
	}
	c.Set(e.row, types.ID(id))
	e.copyToMap([]*model.Column{c})
	return nil
}

var errCopy = fmt.Errorf("the row has another key than this copy of a struct, which cannot be set: pass a pointer: %w", gorm.ErrInvalidValue)

// entry is a row of the statement. It is a struct, or a map together with a scratch
// struct that contains the map's keys.
type entry struct {
	row    reflect.Value
	values map[string]any // nil for a struct
}

// entriesOf returns the rows that the statement sent. It does not use the caller's list
// if [prepare] saved it, because GORM may replace that list by the rows that RETURNING *
// returns, which may be fewer.
func entriesOf(stmt *gorm.Statement, columns []*model.Column) (entries []entry) {
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		for _, values := range maps {
			row := reflect.New(stmt.Schema.ModelType).Elem()
			copyTo(row, values, columns)
			entries = append(entries, entry{row, values})
		}
		return entries
	}
	rows, _ := rowview.Of(stmt) // BeforeInsert has rejected rows for which this fails
	if sent := noted(stmt).rows; sent.N > 0 {
		rows = sent
	}
	for i := range rows.N {
		entries = append(entries, entry{row: rows.At(i)})
	}
	return entries
}

// copyToMap writes the columns of the scratch struct into the map.
func (e entry) copyToMap(columns []*model.Column) {
	if e.values == nil {
		return
	}
	for _, c := range columns {
		name := nameIn(e.values, c.Field)
		if c.Unset(e.row) {
			delete(e.values, name)
			continue
		}
		e.values[name] = c.Value(e.row)
	}
}

// value returns the value that the statement inserted into a column. It returns nil if
// the value is NULL or unknown.
func (e entry) value(stmt *gorm.Statement, f *schema.Field) any {
	if e.values != nil {
		return e.values[nameIn(e.values, f)]
	}
	value, zero := f.ValueOf(stmt.Context, e.row)
	if v := reflect.ValueOf(value); zero && f.HasDefaultValue || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return value
}

// remember stores the keys of a list whose key columns have a default, so that [restore]
// can write them back. GORM would overwrite them, because it assumes that the database
// assigned consecutive keys to maps, and because it writes the keys that an INSERT
// returns into the structs by their positions.
func remember(stmt *gorm.Statement, m *model.Model) {
	columns := withDefault(m)
	if len(columns) == 0 || !isList(stmt) || !isMaps(stmt) && returnsAll(stmt) {
		return
	}
	note := noteOf(stmt)
	for _, e := range entriesOf(stmt, columns) {
		row := reflect.New(stmt.Schema.ModelType).Elem()
		for _, c := range columns {
			if e.row.IsValid() {
				value, _ := c.Field.ValueOf(stmt.Context, e.row)
				_ = c.Field.Set(stmt.Context, row, value) // cannot fail, because the value has the field's type
			}
		}
		note.keys = append(note.keys, row)
	}
}

// returnsAll reports whether the statement returns whole rows, from which GORM then makes
// the list.
func returnsAll(stmt *gorm.Statement) bool {
	c, given := stmt.Clauses["RETURNING"]
	return given && isAll(c.Expression)
}

func withDefault(m *model.Model) (columns []*model.Column) {
	for _, c := range m.Columns {
		if c.Field.HasDefaultValue {
			columns = append(columns, c)
		}
	}
	return columns
}

// restore writes the keys back that [remember] has stored.
func restore(stmt *gorm.Statement, m *model.Model) error {
	keys := noted(stmt).keys
	if keys == nil {
		return nil
	}
	columns := withDefault(m)
	for i, e := range entriesOf(stmt, columns) {
		switch {
		case i >= len(keys): // GORM appends returned rows to a list of maps
			return nil
		case e.values != nil:
			entry{keys[i], e.values}.copyToMap(columns)
			continue
		case !e.row.CanSet():
			continue
		}
		for _, c := range columns {
			value, _ := c.Field.ValueOf(stmt.Context, keys[i])
			if err := c.Field.Set(stmt.Context, e.row, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// find reads the keys of the rows from the table. It finds a row under its key, or else
// by its unique columns. If the table has no such row, because DO NOTHING or a condition
// left it out, find clears the keys of the struct.
func find(stmt *gorm.Statement, m *model.Model) error {
	entries, id := entriesOf(stmt, m.Columns), identifier(stmt, m)
	present, err := rowsByKey(stmt, m, id, entries)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if !e.row.IsValid() {
			continue
		}
		found := present[id.Value(e.row)]
		if !found.IsValid() && mustBeFound(stmt, e.row) {
			if found, err = rowByUnique(stmt, m, e); err != nil {
				return at(id, i, len(entries) > 1, err.Error())
			}
		}
		if err := e.take(stmt, m, found); err != nil {
			return err
		}
	}
	return nil
}

// take copies the keys of the row found into the entry. If found is invalid, it clears
// the keys of the entry.
func (e entry) take(stmt *gorm.Statement, m *model.Model, found reflect.Value) error {
	if !e.row.CanSet() {
		if !found.IsValid() || slices.ContainsFunc(m.Columns, func(c *model.Column) bool { return c.Differs(found, e.row) }) {
			return errCopy
		}
		return nil
	}
	if !found.IsValid() {
		for _, c := range m.Columns {
			c.Clear(e.row)
		}
		e.copyToMap(m.Columns)
		return nil
	}
	for _, f := range readable(stmt.Schema, m) {
		value, _ := f.ValueOf(stmt.Context, found)
		if err := f.Set(stmt.Context, e.row, value); err != nil {
			return err
		}
	}
	e.copyToMap(m.Columns)
	return nil
}

// mustBeFound reports whether find must return an error if it cannot find the row. That
// is so if the statement updates the row, if GORM saves the row for a relation and copies
// its key, or if GORM will save related rows with its key.
func mustBeFound(stmt *gorm.Statement, row reflect.Value) bool {
	if conflict, ok := onConflict(stmt); noted(stmt).nested || !ok || conflict != nil && updates(*conflict) && len(conflict.Where.Exprs) == 0 {
		return true
	}
	one := rowview.Rows{Value: row, N: 1}
	return slices.ContainsFunc(model.Relations(stmt.Schema), func(rel *schema.Relationship) bool {
		return rel.Type != schema.BelongsTo && row.Type() == stmt.Schema.ModelType && Related(stmt, one, rel) >= 0
	})
}

// keysAtOnce is the number of rows that one query reads. It is below the limit of
// parameters of every database.
const keysAtOnce = 500

// rowsByKey reads the rows that the table has under the keys of the entries, and returns
// them by key.
func rowsByKey(stmt *gorm.Statement, m *model.Model, id *model.Column, entries []entry) (map[any]reflect.Value, error) {
	var keys []any
	for _, e := range entries {
		if e.row.IsValid() && !id.Unset(e.row) {
			keys = append(keys, id.Value(e.row))
		}
	}
	present := make(map[any]reflect.Value, len(keys))
	for some := range slices.Chunk(keys, keysAtOnce) {
		rows, err := read(stmt, m, clause.IN{Column: clause.Column{Name: id.Field.DBName}, Values: some})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			present[id.Value(row)] = row
		}
	}
	return present, nil
}

// rowByUnique reads the row that has the same values as the entry in a unique index. It
// returns an error if there is no such row, or if several rows match.
func rowByUnique(stmt *gorm.Statement, m *model.Model, e entry) (found reflect.Value, err error) {
	id := identifier(stmt, m)
	for _, u := range uniques(stmt, m) {
		where, known := u.is(stmt, e)
		if !known {
			continue
		}
		rows, err := read(stmt, m, where...)
		switch {
		case err != nil:
			return found, err
		case len(rows) > 1 || len(rows) == 1 && found.IsValid() && id.Value(found) != id.Value(rows[0]):
			return found, errors.New("several rows of the table have its unique values, so that its key is unknown: read the row before the create")
		case len(rows) == 1:
			found = rows[0]
		}
	}
	if !found.IsValid() {
		return found, errors.New("the row was not inserted, and no row has its unique values, so that its key is unknown: find the row by FirstOrCreate before the create, or declare the unique column in the model")
	}
	return found, nil
}

// unique is a set of columns in which no two rows have the same values.
type unique struct {
	fields []*schema.Field
	where  []clause.Expression // the condition of a partial index
}

// uniques returns the columns that the upsert names as its conflict target, and the
// unique indexes that the model declares.
func uniques(stmt *gorm.Statement, m *model.Model) (all []unique) {
	if conflict, _ := onConflict(stmt); conflict != nil {
		named := unique{where: conflict.TargetWhere.Exprs}
		for _, c := range conflict.Columns {
			if f := stmt.Schema.LookUpField(c.Name); f != nil && !f.PrimaryKey {
				named.fields = append(named.fields, f)
			}
		}
		if len(named.fields) > 0 && len(named.fields) == len(conflict.Columns) {
			all = append(all, named)
		}
	}
	for _, index := range m.Uniques(stmt.NamingStrategy) {
		u := unique{}
		for _, name := range index.Columns {
			u.fields = append(u.fields, stmt.Schema.FieldsByDBName[name])
		}
		if index.Where != "" {
			u.where = []clause.Expression{clause.Expr{SQL: index.Where}}
		}
		all = append(all, u)
	}
	return all
}

// is returns the condition for rows that have the values of the entry. It returns false
// if a value is NULL or unknown, because NULL conflicts with no row.
func (u unique) is(stmt *gorm.Statement, e entry) (where []clause.Expression, known bool) {
	where = slices.Clone(u.where)
	for _, f := range u.fields {
		value := e.value(stmt, f)
		if value == nil {
			return nil, false
		}
		where = append(where, clause.Eq{Column: clause.Column{Name: f.DBName}, Value: value})
	}
	return where, true
}

// readable returns the key fields, and the fields whose defaults the database chooses.
func readable(s *schema.Schema, m *model.Model) (fields []*schema.Field) {
	for _, c := range returned(s, m) {
		fields = append(fields, s.FieldsByDBName[c.Name])
	}
	return fields
}

// read returns the rows of the table that satisfy the conditions, with their keys. It
// runs on the connection of the statement, because another connection may read from a
// replica, or may not see the transaction. On MySQL it locks the rows, as the upsert did,
// because a plain read in a MySQL transaction does not see rows that are newer than its
// first read.
func read(stmt *gorm.Statement, m *model.Model, where ...clause.Expression) (found []reflect.Value, err error) {
	query := &gorm.Statement{
		DB: stmt.DB, Table: stmt.Table, TableExpr: stmt.TableExpr, Schema: stmt.Schema,
		ConnPool: stmt.ConnPool, Context: stmt.Context, Clauses: map[string]clause.Clause{},
	}
	if insert, ok := stmt.Clauses["INSERT"].Expression.(clause.Insert); ok && insert.Table.Name != "" {
		query.Table, query.TableExpr = insert.Table.Name, nil
	}
	query.AddClause(clause.Select{Columns: returned(stmt.Schema, m)})
	query.AddClause(clause.From{})
	query.AddClause(clause.Where{Exprs: where})
	if stmt.Name() == "mysql" {
		query.AddClause(clause.Locking{Strength: "UPDATE"})
	}
	query.Build("SELECT", "FROM", "WHERE", "FOR")
	begin := time.Now()
	found, err = scan(query, readable(stmt.Schema, m))
	stmt.Logger.Trace(stmt.Context, begin, func() (string, int64) {
		return stmt.Explain(query.SQL.String(), query.Vars...), int64(len(found))
	}, err)
	return found, err
}

// scan runs the query and reads its rows into new structs.
func scan(query *gorm.Statement, fields []*schema.Field) (found []reflect.Value, err error) {
	rows, err := query.ConnPool.QueryContext(query.Context, query.SQL.String(), query.Vars...)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	for rows.Next() {
		row := reflect.New(query.Schema.ModelType).Elem()
		if err := scanRow(query, rows.Scan, fields, row); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, rows.Err()
}

func scanRow(query *gorm.Statement, scan func(dest ...any) error, fields []*schema.Field, row reflect.Value) error {
	values := make([]any, len(fields))
	for i, f := range fields {
		values[i] = f.NewValuePool.Get()
		defer f.NewValuePool.Put(values[i])
	}
	if err := scan(values...); err != nil {
		return err
	}
	for i, f := range fields {
		if err := f.Set(query.Context, row, values[i]); err != nil {
			return err
		}
	}
	return nil
}
