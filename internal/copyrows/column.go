package copyrows

import (
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// column is a column of the table.
type column struct {
	*model.Column
	initial bool // gets a literal default or a time stamp if it is zero
	integer bool // holds a value that drivers receive as an int64
	sql     bool // may write its own SQL
}

// columnsOf returns the columns that GORM would write, in GORM's order.
func columnsOf(stmt *gorm.Statement, list rowview.Rows) ([]*column, error) {
	var columns, generated []*column
	selected, restricted := stmt.SelectAndOmitColumns(true, false)
	for _, name := range stmt.Schema.DBNames {
		f := stmt.Schema.FieldsByDBName[name]
		byDatabase := f.HasDefaultValue && f.DefaultValueInterface == nil
		stamp := f.AutoCreateTime > 0 || f.AutoUpdateTime > 0
		if write, named := selected[name]; named && !write || !named && restricted && (byDatabase || !stamp) {
			continue
		}
		c := newColumn(f)
		if !byDatabase {
			columns = append(columns, c)
			continue
		}
		set, err := c.set(list)
		if err != nil {
			return nil, err
		}
		if set {
			generated = append(generated, c)
		}
	}
	return append(columns, generated...), nil
}

func newColumn(f *schema.Field) *column {
	initial := f.DefaultValueInterface != nil || f.AutoCreateTime > 0 || f.AutoUpdateTime > 0
	return &column{
		Column:  model.NewColumn(f),
		initial: initial,
		integer: !initial && f.Serializer == nil && isInteger(f.FieldType),
		sql:     f.Serializer == nil && writesSQL(f.FieldType),
	}
}

// writesSQL reports whether GORM may ask a value of type t for SQL.
func writesSQL(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || t.Implements(reflect.TypeFor[gorm.Valuer]()) ||
		t.Implements(reflect.TypeFor[clause.Expression]())
}

// isInteger reports whether drivers receive a value of type t, or of type *t, as an
// int64.
func isInteger(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return model.IsID(t) || t == reflect.TypeFor[int64]() || t == reflect.TypeFor[int]()
}

// set reports whether the rows have values for a column that the database otherwise
// fills. It returns an error if only some rows have a value, because COPY cannot use the
// default for single rows.
func (c *column) set(list rowview.Rows) (bool, error) {
	with, without := -1, -1 // index of the last such row
	for i := range list.N {
		if v, ok := c.Find(list.At(i)); ok && !v.IsZero() {
			with = i
		} else {
			without = i
		}
	}
	if with >= 0 && without >= 0 {
		return false, fmt.Errorf("field %s: row %d has a value, and for row %d the database would have to choose one, which COPY does for all rows or none: set the field in all of them or in none, or copy them in two parts",
			c.Field.BindName(), with, without)
	}
	return with >= 0, nil
}

// value returns the value that GORM would write for the row.
func (c *column) value(s *Source, row reflect.Value) (any, error) {
	if c.integer { // the same result as below, in less time
		return c.number(row), nil
	}
	value, zero := c.Field.ValueOf(s.stmt.Context, row)
	switch {
	case zero && c.initial:
		return c.setInitial(s, row)
	case c.sql:
		return s.parameter(value)
	default:
		return value, nil
	}
}

func (c *column) number(row reflect.Value) any {
	v, _ := c.Find(row)
	if v = reflect.Indirect(v); !v.IsValid() {
		return nil
	}
	return v.Int()
}

// setInitial sets the default or time stamp in the row, and returns it.
func (c *column) setInitial(s *Source, row reflect.Value) (any, error) {
	f := c.Field
	if f.DefaultValueInterface != nil {
		return f.DefaultValueInterface, f.Set(s.stmt.Context, row, f.DefaultValueInterface)
	}
	if err := f.Set(s.stmt.Context, row, s.now); err != nil {
		return nil, err
	}
	value, _ := f.ValueOf(s.stmt.Context, row)
	return value, nil
}

// parameter returns the parameter that GORM would bind for a value that may write its own
// SQL. It returns an error for SQL other than NULL, because COPY takes only values.
func (s *Source) parameter(value any) (any, error) {
	sql, vars := s.build(value)
	placeholder, _ := s.build(0)
	switch {
	case sql == placeholder && len(vars) == 1:
		return vars[0], nil
	case strings.EqualFold(sql, "NULL"):
		return nil, nil
	default:
		return nil, fmt.Errorf("%T writes the SQL %s, and COPY takes values only: use Create, or Omit the column", value, sql)
	}
}

func (s *Source) build(value any) (string, []any) {
	stmt := &gorm.Statement{DB: s.stmt.DB, Context: s.stmt.Context}
	stmt.AddVar(stmt, value)
	return stmt.SQL.String(), stmt.Vars
}
