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

// Enter implements [engine.Copies]. First it inserts all rows of a table with a single
// statement, which usually succeeds. If that fails, or if a column may round keys, it
// inserts each row alone, because it must learn the error of each row, and a row may
// replace another.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for len(rows) > 0 {
		c, n := r.copies[rows[0].Table], 1 // n is the number of the next rows for this copy
		for n < len(rows) && rows[n].Table == rows[0].Table {
			n++
		}
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

// enter inserts one row, and returns the error with which the moved table would reject
// it. If the table rejects the change of its columns, enter returns the error of the
// change for each row, except for rows that try the present types, because these do not
// need the change. It reads an inserted row back, because the column may have rounded its
// key.
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

// mayRound reports whether the column may accept a key and lose digits of it, as a float
// does. Integer columns reject such a key.
func (c *tableCopy) mayRound(k plan.Column) bool {
	return c.Column(k.Name).Definition.Integer().Base == ""
}

// replace inserts rows. A row replaces an earlier row with the same key.
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

// value returns the SQL of a value for the column: its key in the row, or a value that
// does not matter.
func (c *tableCopy) value(column *mycatalog.Column, row engine.Row) string {
	k := c.key(column)
	if k == nil || row.Keys[k.Name] == 0 || row.AsIs && column.Definition.Integer().Base == "" { // a date does not accept a small key
		return fill(column, k != nil || row.Fill > 0)
	}
	return row.Keys[k.Name].String()
}

// readBack returns an error if a key in the copy has lost digits.
func (r *trial) readBack(ctx context.Context, c *tableCopy, row engine.Row) error {
	name := mycatalog.QuoteTable(c.name)
	for _, k := range c.keys {
		key, read := row.Keys[k.Name], ""
		if key == 0 || row.AsIs || !c.mayRound(k) {
			continue
		}
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

// fill returns an expression for the value of a column that is not tried. It is NULL if
// null is true and the column is not part of the primary key, or else its default or a
// value that most types accept. A default that takes a value from a sequence is not used,
// because the trial must not advance the sequence.
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
