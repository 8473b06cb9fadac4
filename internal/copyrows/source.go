package copyrows

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/rowview"
)

// Source has the methods of pgx.CopyFromSource, by which pgx reads the rows of one COPY. It
// serves one COPY and one goroutine.
type Source struct {
	stmt    *gorm.Statement
	table   []string // parts of the table's name
	columns []*column
	rows    rowview.Rows
	now     time.Time // value of all time stamps that rows lack

	at     int   // index of the current row, -1 before the first Next
	values []any // values of the current row
	err    error
}

// Table returns the parts of the table's name, such as app and orders for app.orders.
func (s *Source) Table() []string { return slices.Clone(s.table) }

// Columns returns the names of the columns, in the order of the values.
func (s *Source) Columns() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.Field.DBName
	}
	return names
}

// Next moves to the next row and reports whether there is a next row.
func (s *Source) Next() bool {
	if s.err != nil || s.at+1 >= s.rows.N {
		return false
	}
	s.at++
	return true
}

// Values returns the values of the current row, in the order of [Source.Columns]. They are
// valid until the next call.
func (s *Source) Values() ([]any, error) {
	row := s.rows.At(s.at)
	for i, c := range s.columns {
		var err error
		if s.values[i], err = c.value(s, row); err != nil {
			s.err = fmt.Errorf("gormflake: CopySource: model %s, field %s, row %d: %w",
				s.stmt.Schema.Name, c.Field.BindName(), s.at, err)
			return nil, s.err
		}
	}
	return s.values, nil
}

// Err returns the error that [Source.Values] returned, or nil.
func (s *Source) Err() error { return s.err }

// value returns the value that GORM would write into the column for the row. If the row lacks
// a value for which the model declares a default or a time stamp, value sets that in the row
// too.
func (c *column) value(s *Source, row reflect.Value) (any, error) {
	if c.isInteger { // stores the same value as the code below, in less time
		return c.number(row), nil
	}
	value, zero := c.Field.ValueOf(s.stmt.Context, row)
	switch {
	case zero && c.setsInitial:
		return c.setInitial(s, row)
	case c.mayWriteSQL:
		return s.parameter(value)
	default:
		return value, nil
	}
}

// number returns the integer of the row as an int64, or nil for a nil pointer.
func (c *column) number(row reflect.Value) any {
	v, _ := c.Find(row)
	if v = reflect.Indirect(v); !v.IsValid() {
		return nil
	}
	return v.Int()
}

// setInitial sets the default of the model, or the time stamp, in a row whose field is zero,
// and returns it.
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
// SQL, for example a value with the method GormValue. It returns an error for SQL other than
// NULL, because COPY takes only values. It compares the SQL of the value with the SQL of a
// plain parameter, such as ? or $1.
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

// build returns the SQL that GORM writes for a value in an INSERT, and its parameters.
func (s *Source) build(value any) (string, []any) {
	stmt := &gorm.Statement{DB: s.stmt.DB, Context: s.stmt.Context}
	stmt.AddVar(stmt, value)
	return stmt.SQL.String(), stmt.Vars
}
