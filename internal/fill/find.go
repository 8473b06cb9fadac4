package fill

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// findKeys sets the keys of the rows in the structs after an upsert, by reading the table,
// because an existing row may have another key than its struct. For each struct it looks for
// the row that has the struct's key. If there is no such row, DO NOTHING or a condition may
// have left the row out. findKeys then clears the keys of the struct. But if [mustBeFound]
// returns true, findKeys looks for the row by its unique columns, and returns an error if it
// does not find the row.
func findKeys(stmt *gorm.Statement, m *model.Model) error {
	entries, id := entriesOf(stmt, m.Columns), identifier(stmt, m)
	byID, err := rowsByID(stmt, m, id, entries)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if !e.row.IsValid() { // a nil element
			continue
		}
		found, err := e.sameKey(stmt, m, id, byID[id.Value(e.row)])
		if err != nil {
			return rowError(id, i, len(entries) > 1, err.Error())
		}
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
// If found is invalid, because the table has no such row, takeKeys clears the keys of the
// entry. An entry that is a copy cannot be set, so takeKeys returns errCopy unless the copy
// has the right keys already.
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
	if e.values == nil {
		return nil
	}
	// A map also gets an untagged primary key, and the row's values of those columns with a
	// default of the database that the map already has.
	for _, f := range readable(stmt.Schema, m) {
		name := nameIn(e.values, f)
		if _, has := e.values[name]; !model.IsTagged(f) && (has || f.PrimaryKey) {
			e.values[name], _ = f.ValueOf(stmt.Context, found)
		}
	}
	return nil
}

// sameKey returns the row of the table that has the key of the entry, or an invalid value.
// candidates are the rows that have the entry's value in the column id. If the primary key
// has other columns too, for example a tenant, several candidates may have this value.
// sameKey then compares all columns of the key whose values are known. It returns an error if
// several rows match.
func (e entry) sameKey(stmt *gorm.Statement, m *model.Model, id *model.Column, candidates []reflect.Value) (found reflect.Value, err error) {
	if len(candidates) == 0 || id.Unset(e.row) {
		return found, nil
	}
	if !id.Field.PrimaryKey || len(stmt.Schema.PrimaryFields) == 1 {
		return candidates[0], nil
	}
	// The value of a key column is unknown if the database has set it to the default.
	known := slices.DeleteFunc(slices.Clone(stmt.Schema.PrimaryFields), func(f *schema.Field) bool {
		return f.HasDefaultValue && e.value(stmt, f) == nil
	})
	same := slices.DeleteFunc(slices.Clone(candidates), func(row reflect.Value) bool {
		return slices.ContainsFunc(known, func(f *schema.Field) bool {
			value, _ := f.ValueOf(stmt.Context, row)
			return !equalValues(value, e.value(stmt, f))
		})
	})
	isText := func(f *schema.Field) bool { return f.GORMDataType == schema.String }
	if len(same) == 0 && (e.values != nil || slices.ContainsFunc(known, isText)) {
		// Let the database compare, because a map may have values of other types, and because of
		// the padding of a CHAR and collations.
		if where, complete := (unique{fields: known}).condition(stmt, e); complete {
			if same, err = read(stmt, m, where...); err != nil {
				return found, err
			}
		}
	}
	switch len(same) {
	case 0:
		return found, nil
	case 1:
		return same[0], nil
	}
	return found, errors.New("several rows of the table have its key, of which the database sets a column: read the row before the create")
}

// equalValues reports whether two values of a field are equal. Times are equal if they differ
// by less than a second, because databases round them.
func equalValues(a, b any) bool {
	timeOfA, isTimeA := a.(time.Time)
	timeOfB, isTimeB := b.(time.Time)
	if isTimeA && isTimeB {
		return timeOfA.Sub(timeOfB).Abs() < time.Second
	}
	return reflect.DeepEqual(a, b)
}

// rowsByID reads the rows that have the values of the entries in the column id. It returns a
// map from each value to the rows that have it.
func rowsByID(stmt *gorm.Statement, m *model.Model, id *model.Column, entries []entry) (map[any][]reflect.Value, error) {
	var keys []any
	for _, e := range entries {
		if e.row.IsValid() && !id.Unset(e.row) {
			keys = append(keys, id.Value(e.row))
		}
	}
	byID := make(map[any][]reflect.Value, len(keys))
	for some := range slices.Chunk(keys, keysAtOnce) {
		rows, err := read(stmt, m, clause.IN{Column: clause.Column{Name: id.Field.DBName}, Values: some})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			byID[id.Value(row)] = append(byID[id.Value(row)], row)
		}
	}
	return byID, nil
}

// keysAtOnce is the number of rows that one query reads. The query has a parameter for each
// row, and 500 is below every database's limit of parameters.
const keysAtOnce = 500

// rowByUnique reads the row that has the same values as the entry in a unique index, for
// example the same email, because the upsert must have found that row. It returns an error
// if there is no such row, or if several rows match.
func rowByUnique(stmt *gorm.Statement, m *model.Model, e entry) (found reflect.Value, err error) {
	for _, u := range uniques(stmt, m) {
		where, known := u.condition(stmt, e)
		if !known {
			continue
		}
		rows, err := read(stmt, m, where...)
		switch {
		case err != nil:
			return found, err
		case len(rows) > 1 || len(rows) == 1 && found.IsValid() && !sameRow(stmt, m, found, rows[0]):
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

// sameRow reports whether two rows of the table are the same row.
func sameRow(stmt *gorm.Statement, m *model.Model, a, b reflect.Value) bool {
	fields := append(slices.Clone(stmt.Schema.PrimaryFields), identifier(stmt, m).Field)
	return !slices.ContainsFunc(fields, func(f *schema.Field) bool {
		valueOfA, _ := f.ValueOf(stmt.Context, a)
		valueOfB, _ := f.ValueOf(stmt.Context, b)
		return !reflect.DeepEqual(valueOfA, valueOfB)
	})
}

// unique is a set of columns in which no two rows have the same values.
type unique struct {
	fields []*schema.Field
	where  []clause.Expression // the condition of a partial index
}

// uniques returns the sets of columns by which the upsert can have found a row. These are the
// primary key, the columns that ON CONFLICT names, and the unique indexes that the model
// declares. uniques leaves out a primary key of a single column, because findKeys has looked
// for the row by this column before. It leaves out a primary key that the database may have
// assigned, because the value is unknown. It leaves out the columns of ON CONFLICT if one of
// them is in the primary key or is no column of the model.
func uniques(stmt *gorm.Statement, m *model.Model) (all []unique) {
	mayBeAssigned := func(f *schema.Field) bool { return f.HasDefaultValue && !hasColumn(m, f.DBName) }
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
