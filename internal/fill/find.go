package fill

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// findKeys reads the keys of the rows from the table after an upsert, and sets them in the
// structs, because an existing row may have another key than its struct. It looks for a row
// under the key of its struct. If there is none, DO NOTHING or a condition may have left the
// row out, and findKeys clears the keys of the struct. But if the row must be found, findKeys
// finds it by its unique columns, or returns an error.
func findKeys(stmt *gorm.Statement, m *model.Model) error {
	entries, id := entriesOf(stmt, m.Columns), identifier(stmt, m)
	byKey, err := rowsByKey(stmt, m, id, entries)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if !e.row.IsValid() { // a nil element
			continue
		}
		found := byKey[rowKey(stmt, id, e.row)]
		if !found.IsValid() && mustBeFound(stmt, e.row) {
			if found, err = rowByUnique(stmt, m, e); err != nil {
				return rowError(id, i, len(entries) > 1, err.Error())
			}
		}
		if err := e.takeKeys(stmt, m, found); err != nil {
			return err
		}
	}
	return nil
}

// mustBeFound reports whether findKeys must find the row, or else return an error. It must
// if the table is sure to have the row, or if the key is going to be copied into the foreign
// key of another row.
func mustBeFound(stmt *gorm.Statement, row reflect.Value) bool {
	// An upsert without a condition leaves out no row. A clause of another type than GORM's
	// may update rows, too.
	conflict, isGORMs := onConflict(stmt)
	updatesAll := conflict != nil && updates(*conflict) && len(conflict.Where.Exprs) == 0
	if updatesAll || !isGORMs {
		return true
	}
	// If GORM saves the row for a relation, it may copy the key to the row with the relation.
	if readNote(stmt).nested {
		return true
	}
	// GORM copies the key to the related rows that it saves after this row.
	one := rowview.Rows{Value: row, N: 1}
	return slices.ContainsFunc(model.Relations(stmt.Schema), func(rel *schema.Relationship) bool {
		return rel.Type != schema.BelongsTo && Related(stmt, one, rel) >= 0
	})
}

// takeKeys copies the keys of the row found, which was read from the table, into the entry.
// If found is invalid, because the table has no such row, it clears the keys of the entry.
func (e entry) takeKeys(stmt *gorm.Statement, m *model.Model, found reflect.Value) error {
	if !e.row.CanSet() { // a copy, which must have the right keys already
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
	for _, f := range readable(stmt.Schema, m) { // the keys and the defaults of the database
		value, _ := f.ValueOf(stmt.Context, found)
		if err := f.Set(stmt.Context, e.row, value); err != nil {
			return err
		}
	}
	e.copyToMap(m.Columns)
	return nil
}

// rowKey returns the key by which rowsByKey and findKeys recognize a row. This is the value of
// the column id, or a text of all values of the primary key if id is one of several columns of
// it, because rows of different tenants, for example, may have the same value in id.
func rowKey(stmt *gorm.Statement, id *model.Column, row reflect.Value) any {
	primary := stmt.Schema.PrimaryFields
	if !id.Field.PrimaryKey || len(primary) == 1 {
		return id.Value(row)
	}
	var key strings.Builder
	for _, f := range primary {
		fmt.Fprintf(&key, "%v\x00", reflect.Indirect(f.ReflectValueOf(stmt.Context, row)))
	}
	return key.String()
}

// rowsByKey reads the rows that the table has under the keys of the entries, and returns
// them by their [rowKey]. id is the column by which the rows are found.
func rowsByKey(stmt *gorm.Statement, m *model.Model, id *model.Column, entries []entry) (map[any]reflect.Value, error) {
	var keys []any
	for _, e := range entries {
		if e.row.IsValid() && !id.Unset(e.row) {
			keys = append(keys, id.Value(e.row))
		}
	}
	byKey := make(map[any]reflect.Value, len(keys))
	for some := range slices.Chunk(keys, keysAtOnce) {
		rows, err := read(stmt, m, clause.IN{Column: clause.Column{Name: id.Field.DBName}, Values: some})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			byKey[rowKey(stmt, id, row)] = row
		}
	}
	return byKey, nil
}

// keysAtOnce is the number of rows that one query reads. It is below every database's limit
// of parameters, of which the query has one for each row.
const keysAtOnce = 500

// rowByUnique reads the row that has the same values as the entry in a unique index, for
// example the same email, because the upsert must have found that row. It returns an error
// if there is no such row, or if several rows match.
func rowByUnique(stmt *gorm.Statement, m *model.Model, e entry) (found reflect.Value, err error) {
	id := identifier(stmt, m)
	for _, u := range uniques(stmt, m) {
		where, known := u.condition(stmt, e)
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

// uniques returns the sets of columns by which the upsert can have found a row. These are
// the primary key, the columns that ON CONFLICT names, and the unique indexes that the model
// declares. It leaves out a primary key of a single column under which findKeys has looked for
// the row before, and a key that the database may have assigned.
func uniques(stmt *gorm.Statement, m *model.Model) (all []unique) {
	mayBeAssigned := func(f *schema.Field) bool {
		isTagged := slices.ContainsFunc(m.Columns, func(c *model.Column) bool { return c.Field == f })
		return f.HasDefaultValue && !isTagged
	}
	key := stmt.Schema.PrimaryFields
	wasSearched := len(key) == 1 && key[0] == identifier(stmt, m).Field
	if len(key) > 0 && !wasSearched && !slices.ContainsFunc(key, mayBeAssigned) {
		all = append(all, unique{fields: key})
	}
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

// condition returns the condition for rows that have the values of the entry. It returns
// false if a value is NULL or unknown, because NULL conflicts with no row.
func (u unique) condition(stmt *gorm.Statement, e entry) (where []clause.Expression, known bool) {
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
