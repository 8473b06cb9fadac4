package fill

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// returnKeys makes the statement return the tagged columns, so that GORM writes them into
// the structs. An existing row that the upsert finds by another unique column keeps its
// keys, which differ from the keys of its struct.
func returnKeys(stmt *gorm.Statement, m *model.Model) {
	c, hasReturning := stmt.Clauses["RETURNING"]
	if !hasReturning {
		stmt.AddClause(clause.Returning{Columns: columnsToReturn(stmt.Schema, m)})
		nameAsColumns(stmt, m)
		return
	}
	if isAll(c.Expression) { // RETURNING *
		return
	}
	// Add the columns that the caller's RETURNING lacks.
	columns := c.Expression.(clause.Returning).Columns
	missing := slices.DeleteFunc(keysToReturn(stmt.Schema, m), func(key clause.Column) bool {
		return slices.ContainsFunc(columns, func(column clause.Column) bool { return column.Name == key.Name && column.Alias == "" })
	})
	if len(missing) > 0 {
		stmt.AddClause(clause.Returning{Columns: missing}) // GORM appends them to the caller's columns
		nameAsColumns(stmt, m)
	}
}

// returnDefaults makes DO NOTHING return the defaults that the database chose. It does
// not return the keys, because GORM skips each struct in which a returned column is
// already set.
func returnDefaults(stmt *gorm.Statement) {
	if _, hasReturning := stmt.Clauses["RETURNING"]; hasReturning || !gormAddsReturning(stmt) {
		return
	}
	var columns []clause.Column
	for _, f := range stmt.Schema.FieldsWithDefaultDBValue {
		if f.Readable && !model.IsTagged(f) {
			columns = append(columns, clause.Column{Name: f.DBName})
		}
	}
	if len(columns) > 0 {
		stmt.AddClause(clause.Returning{Columns: columns})
	}
}

// nameAsColumns renames the entries of maps for tagged columns, for example from ID to id,
// the name of the column. GORM writes a value that the database returns under the name of the
// column, and would leave the old value under the other name.
func nameAsColumns(stmt *gorm.Statement, m *model.Model) {
	maps, _ := rowview.Maps(stmt.Dest)
	for _, row := range maps {
		for _, c := range m.Columns {
			name := nameIn(row, c.Field)
			if value, ok := row[name]; ok && name != c.Field.DBName {
				delete(row, name)
				row[c.Field.DBName] = value
			}
		}
	}
}

// columnsToReturn returns the key columns, and the columns with a default that the database
// chooses. Without a RETURNING clause, GORM would return the columns with such a default by
// itself. It adds no column to an existing RETURNING clause.
func columnsToReturn(s *schema.Schema, m *model.Model) []clause.Column {
	return columnsOf(slices.Concat(keyFields(s, m), s.FieldsWithDefaultDBValue))
}

// keysToReturn returns the key columns.
func keysToReturn(s *schema.Schema, m *model.Model) []clause.Column {
	return columnsOf(keyFields(s, m))
}

// keyFields returns the primary keys and the tagged fields.
func keyFields(s *schema.Schema, m *model.Model) []*schema.Field {
	fields := slices.Clone(s.PrimaryFields)
	for _, c := range m.Columns {
		fields = append(fields, c.Field)
	}
	return fields
}

// columnsOf returns the columns of the readable fields, each once.
func columnsOf(fields []*schema.Field) (columns []clause.Column) {
	for _, f := range fields {
		c := clause.Column{Name: f.DBName}
		if f.Readable && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// identifier returns the column by which the plugin finds a row in the table again. It is the
// model's only primary key if that is tagged, and otherwise the first tagged column.
func identifier(stmt *gorm.Statement, m *model.Model) *model.Column {
	i := slices.IndexFunc(m.Columns, func(c *model.Column) bool {
		return c.Field.PrimaryKey && len(stmt.Schema.PrimaryFields) == 1
	})
	return m.Columns[max(i, 0)]
}
