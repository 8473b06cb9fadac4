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

// Enter implements [engine.Copies]. It tries to insert each row into its copy, and returns
// the errors, which are nil for rows that were accepted. No row stays in a copy.
func (r *trial) Enter(ctx context.Context, rows []engine.Row) (refusals []error, err error) {
	for _, row := range rows {
		refusals = append(refusals, r.enter(ctx, row))
	}
	return refusals, cmp.Or(ctx.Err(), r.err)
}

// enter inserts a row into its copy, checks that a row with its keys then exists, and
// rolls back, so that the rows of a trial do not conflict. It returns nil if the copy has
// accepted the row, and otherwise the reason. If row.AsIs is true, it tries the table as it is
// today, without the guards that the plan creates, so it first drops the guards of the copies.
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
		// Drop the guards of all tables, because a trigger of this table may write to them.
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

// findSQL returns a query that is true if the copy of t has a row with the keys. A key of 0
// in keys means that the row was inserted without this key, so findSQL does not compare it.
func findSQL(t plan.Table, keys map[string]types.ID) string {
	where := []string{"true"}
	for name, key := range keys {
		if key != 0 {
			where = append(where, quote(name)+" = "+key.String())
		}
	}
	return fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s.%s WHERE %s)", copySchema, quote(t.Name), strings.Join(where, " AND "))
}

// insertSQL returns a statement that inserts a row into the copy of t. The columns that
// hold keys get their key of row.Keys, or NULL. The other columns get the values of the
// first row of the original table, because these values satisfy its CHECKs, or NULL if
// row.Fill is 1. If the original table is empty, the LEFT JOIN still returns a row, and the
// required columns get values that fit their types. For table orders with key 7, it is
//
//	INSERT INTO snowflake_trial."orders" ("id", "note") SELECT 7, r."note"
//	FROM (SELECT 1) LEFT JOIN (SELECT "id", "note" FROM main."orders" LIMIT 1) AS r
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

// valueSQL returns an SQL expression for the value of a column. For a column in keys, it is
// the key, or NULL for a key of 0. For any other column, it is the value in the row r of
// the original table. If preferNull is true, it is NULL instead, unless the column is
// required. If the value in row r is NULL, or there is no row, a required column gets its
// default, or else a value that fits its type.
func (c copiedColumn) valueSQL(preferNull bool, keys map[string]types.ID) string {
	stored := "r." + quote(c.Name)
	key, given := keys[c.Name]
	switch {
	case key != 0:
		return key.String()
	case given:
		return "NULL"
	case c.Required:
		return fmt.Sprintf("coalesce(%s, %s)", stored, cmp.Or(c.Default.String, valueOf(c.Type)))
	case preferNull:
		return "NULL"
	}
	return stored
}

// valueOf returns an SQL literal of a value that fits the type of a column.
func valueOf(typ string) string {
	switch has := func(part string) bool { return strings.Contains(fold(typ), part) }; {
	case has("char"), has("clob"), has("text"):
		return "'x'"
	case has("blob"):
		return "x'00'"
	}
	return "1"
}
