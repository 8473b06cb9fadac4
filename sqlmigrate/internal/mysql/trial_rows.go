package mysql

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Enter implements [engine.Copies]. It first inserts successive rows of a table together
// by a single statement, which usually succeeds, and then returns nil for each of them. If
// the statement fails, it inserts each row alone, to learn the error of each row. It also
// inserts each row alone if a column may round keys, as a float does. Then enter must read each
// row back before the next row, which may have the same rounded key, replaces it.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for len(rows) > 0 {
		// The first n rows are for the copy c.
		c, n := r.copies[rows[0].Table], 1
		for n < len(rows) && rows[n].Table == rows[0].Table {
			n++
		}
		// Whether the rows were inserted together.
		together := c.changeErr == nil && c.createErr == nil && !slices.ContainsFunc(c.keys, c.mayRound) && r.replace(ctx, c, rows[:n]...) == nil
		for _, row := range rows[:n] {
			var refusal error
			if !together {
				refusal = r.enter(ctx, c, row)
			}
			refusals = append(refusals, refusal)
		}
		rows = rows[n:]
	}
	return refusals, r.err
}

// enter inserts one row into the copy c, and returns the error with which the table would
// reject the row, or nil. enter does not insert the row if the table rejects the change of
// its columns by the plan (changeErr), or if the copy could not be created (createErr), and
// returns that error. After changeErr, a row that tries the present types (AsIs) gets nil,
// because it does not need the change. enter reads an inserted row back, because a column
// may have rounded the key.
func (r *trial) enter(ctx context.Context, c *tableCopy, row engine.Row) error {
	switch {
	case c.changeErr != nil && row.AsIs:
		return nil
	case c.changeErr != nil || c.createErr != nil:
		return cmp.Or(c.changeErr, c.createErr)
	}
	if err := r.replace(ctx, c, row); err != nil {
		return err
	}
	return r.readBack(ctx, c, row)
}

// mayRound reports whether the column of key k may accept a key and lose digits of it, as
// a float does. Integer columns reject a key that they cannot hold.
func (c *tableCopy) mayRound(k plan.Column) bool {
	return c.Column(k.Name).Definition.Integer().Base == ""
}

// replace inserts rows into the copy. It uses REPLACE, because the copy may contain a row
// of an earlier try with the same key. It gives values to all columns except generated
// columns.
func (r *trial) replace(ctx context.Context, c *tableCopy, rows ...engine.Row) error {
	var names []string
	values := make([][]string, len(rows))
	for _, column := range c.Columns {
		if column.Definition.Has(" GENERATED ALWAYS AS ") {
			continue
		}
		names = append(names, mycatalog.Quote(column.Name))
		for i, row := range rows {
			values[i] = append(values[i], c.value(column, row))
		}
	}
	list := mycatalog.Join(values, ", ", func(row []string) string { return "(" + strings.Join(row, ", ") + ")" })
	return r.exec(ctx, "REPLACE INTO "+mycatalog.QuoteTable(c.name)+" ("+strings.Join(names, ", ")+") VALUES "+list)
}

// value returns the SQL of a value for the column. If the row has a key for the column, this
// is the key, and otherwise the result of fill. For a column of keys without a key in the row,
// fill returns NULL if the column can be NULL. For the other columns it returns a value if
// row.Fill is 0, and NULL if row.Fill is 1.
func (c *tableCopy) value(column *mycatalog.Column, row engine.Row) string {
	k := c.key(column)
	isSmall := row.AsIs // rows for the present types have small keys
	// A column that is not an integer, such as a date, may not accept a small key.
	if k == nil || row.Keys[k.Name] == 0 || isSmall && column.Definition.Integer().Base == "" {
		return fill(column, k != nil || row.Fill > 0)
	}
	return row.Keys[k.Name].String()
}

// readBack returns an error if a column of the copy has lost digits of its key in the row,
// for example if a double holds 9007199254740992 in place of 9007199254740993.
func (r *trial) readBack(ctx context.Context, c *tableCopy, row engine.Row) error {
	name := mycatalog.QuoteTable(c.name)
	for _, k := range c.keys {
		key, read := row.Keys[k.Name], ""
		if key == 0 || row.AsIs || !c.mayRound(k) {
			continue
		}
		// With a float, = finds the row although its key is rounded, because the server
		// then compares floats. The query does not end with ctx, see trial.
		query := "SELECT MAX(CAST(" + mycatalog.Quote(k.Name) + " AS DECIMAL(40))) FROM " + name + " WHERE " + mycatalog.Quote(k.Name) + " = " + key.String()
		if err := r.conn.QueryRowContext(context.WithoutCancel(ctx), query).Scan(&read); err == nil && read != key.String() {
			return errors.New("it reads back as " + read)
		}
	}
	return nil
}

var (
	// timeColumn matches the definition of a column with a date or time, and uuidColumn
	// of a column of type uuid.
	timeColumn = regexp.MustCompile("^`(?:[^`]|``)+` (?:date|time)")
	uuidColumn = regexp.MustCompile("^`(?:[^`]|``)+` uuid")
)

// fill returns an SQL expression for the value of a column in which the row tries no key.
// If null is true and the column is not part of the primary key, it is NULL. Otherwise it
// is the default of the column or, if there is none, a value that most types accept. A
// default that takes a value from a sequence is not used, because the trial must not
// advance the sequence.
func fill(column *mycatalog.Column, null bool) string {
	switch d := column.Definition; {
	case null && !column.Primary:
		return "NULL"
	case d.Has(" DEFAULT ") && !d.Has(" DEFAULT NULL") && !d.Has("nextval("):
		return "DEFAULT"
	case timeColumn.MatchString(string(d)):
		return "CURRENT_TIMESTAMP"
	case uuidColumn.MatchString(string(d)):
		return "UUID()"
	}
	return "'1'"
}
