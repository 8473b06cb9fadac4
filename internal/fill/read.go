package fill

import (
	"cmp"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

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
	// A clause INSERT may name another table than the model's.
	if insert, ok := stmt.Clauses["INSERT"].Expression.(clause.Insert); ok && insert.Table.Name != "" {
		query.Table, query.TableExpr = insert.Table.Name, nil
	}
	query.AddClause(clause.Select{Columns: columnsToReturn(stmt.Schema, m)})
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

// readable returns the fields that [read] reads, which are the primary keys, the tagged fields,
// and the fields whose defaults the database chooses.
func readable(s *schema.Schema, m *model.Model) (fields []*schema.Field) {
	for _, c := range columnsToReturn(s, m) {
		fields = append(fields, s.FieldsByDBName[c.Name])
	}
	return fields
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

// scanRow reads one row of the result into the struct row. As GORM does, it scans into values
// of the fields' pools, and lets each field convert its value.
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
