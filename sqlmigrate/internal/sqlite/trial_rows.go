package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/internal/sqliteguard"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// Enter implements [engine.Copies]. It returns the error of each row, which enter inserts
// and removes again.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for _, row := range rows {
		refusals = append(refusals, r.enter(ctx, row))
	}
	return refusals, cmp.Or(ctx.Err(), r.err)
}

// enter inserts a row into its copy, checks that a row with its keys then exists, and
// rolls back, so that rows do not conflict. If the row tries the present types, it first
// drops the guards, which do not exist today.
func (r *trial) enter(ctx context.Context, row engine.Row) error {
	t := r.Trial.Tables[row.Table]
	if err := cmp.Or(r.err, r.copyErrs[fold(t.Name)]); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	r.fail(runToEnd(ctx, r.conn, "BEGIN"))
	defer func() { r.fail(endTransaction(ctx, r.conn)) }()
	if row.AsIs {
		// A trigger of this table may write the other tables too.
		for _, guarded := range r.Trial.Tables {
			r.fail(r.try(ctx, "DROP TRIGGER IF EXISTS "+copySchema+"."+quote(sqliteguard.Name(guarded.Name))))
		}
	}
	if err := r.try(ctx, r.insertSQL(t, row)); err != nil {
		return err
	}
	if !readOne[bool](ctx, &r.reader, findSQL(t, row.Keys)) {
		return errors.New("the row has another key after it was inserted, or is not there")
	}
	return nil
}

// findSQL returns a query whether a row with the keys exists. A key of 0 is not compared,
// because a trigger may have assigned it.
func findSQL(t plan.Table, keys map[string]types.ID) string {
	where := []string{"true"}
	for name, key := range keys {
		if key != 0 {
			where = append(where, quote(name)+" = "+key.String())
		}
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s.%s WHERE %s)", copySchema, quote(t.Name), strings.Join(where, " AND "))
}

// insertSQL returns a statement that inserts a row. The columns without keys get their
// values from a row of the original table, because these values satisfy its CHECKs, or
// NULL in the second fill. A column for a key without an entry in row.Keys gets NULL. If
// the table is empty, the LEFT JOIN still returns a row, and the required columns get
// values that fit their types.
func (r *trial) insertSQL(t plan.Table, row engine.Row) string {
	var names, values []string
	for _, c := range r.columns[fold(t.Name)] {
		isKey := slices.ContainsFunc(t.Columns, func(k plan.Column) bool { return k.Name == c.Name })
		names, values = append(names, quote(c.Name)), append(values, c.valueSQL(isKey || row.Fill > 0, row.Keys))
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf("INSERT INTO %s.%[2]s (%[3]s) SELECT %[4]s FROM (SELECT 1) LEFT JOIN (SELECT %[3]s FROM main.%[2]s LIMIT 1) AS r",
		copySchema, quote(t.Name), list, strings.Join(values, ", "))
}

// valueSQL returns an expression for the value of a column: its key, NULL for a key of 0,
// or a value from the original table, which it names r. If null is true, it is NULL for a
// column without a key that is not required.
func (c copiedColumn) valueSQL(null bool, keys map[string]types.ID) string {
	stored := "r." + quote(c.Name)
	key, given := keys[c.Name]
	switch {
	case key != 0:
		return key.String()
	case given:
		return "NULL"
	case c.Required:
		return fmt.Sprintf("coalesce(%s, %s)", stored, cmp.Or(c.Default.String, valueOf(c.Type)))
	case null:
		return "NULL"
	}
	return stored
}

// valueOf returns a value that fits the type of a column.
func valueOf(typ string) string {
	switch has := func(part string) bool { return strings.Contains(fold(typ), part) }; {
	case has("char"), has("clob"), has("text"):
		return "'x'"
	case has("blob"):
		return "x'00'"
	}
	return "1"
}
