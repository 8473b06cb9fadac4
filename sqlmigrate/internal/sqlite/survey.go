package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Survey implements [engine.Engine]. It returns the columns that are too narrow for a
// Snowflake ID, and the facts by which package likely judges whether they hold keys. In
// SQLite, these are only the columns with affinity REAL, which store a key as a float with
// 53 bits. All other columns store 64 bits. Survey reads only the schema main.
func (Engine) Survey(ctx context.Context, conn *sql.Conn, _ []string) (*engine.Survey, error) {
	r := &reader{conn: conn}
	main := readSchema(ctx, r)
	s := &engine.Survey{Current: "main", Texts: read[engine.Text](ctx, r,
		`SELECT type || ' ' || name, sql FROM main.sqlite_master WHERE type IN ('view', 'trigger') ORDER BY name`)}
	for _, e := range main.edges {
		s.ForeignKeys = append(s.ForeignKeys, engine.Reference{
			Table: plan.TableName{Name: fold(e.from.table.Name)}, Column: fold(e.from.Name),
			ToTable: plan.TableName{Name: fold(e.to.table.Name)}, ToColumn: fold(e.to.Name),
		})
	}
	for _, t := range main.tables {
		name := plan.TableName{Name: t.Name}
		s.Tables = append(s.Tables, name)
		for _, c := range t.columns {
			if strings.HasSuffix(fold(c.Name), "_type") {
				s.TypeColumns = append(s.TypeColumns, engine.Reference{Table: name, Column: c.Name})
			}
			if isReal(c.Type) {
				s.Columns = append(s.Columns, engine.NarrowColumn{Table: name, Name: c.Name, Type: c.Type, Alone: c.Key == 1 && len(t.keys()) == 1, Change: "make it an INTEGER column"})
			}
		}
	}
	return s, r.err
}

// isReal reports whether a type has the affinity REAL by the rules of SQLite, which decide
// by parts of the type's name. Parts such as INT take precedence. For example, FLOATING
// POINT contains INT, and has the affinity INTEGER.
func isReal(typ string) bool {
	contains := func(part string) bool { return strings.Contains(strings.ToUpper(typ), part) }
	switch {
	case contains("INT"), contains("CHAR"), contains("CLOB"), contains("TEXT"), contains("BLOB"):
		return false
	}
	return contains("REAL") || contains("FLOA") || contains("DOUB") //nolint:misspell // SQLite's own words
}

// sampleSize is the number of rows in a sample.
const sampleSize = 1000

// Sample implements [engine.Engine]. It returns the values of the columns in the first rows
// of the table, as text. It converts the values to integers first, because package likely
// reads all numbers in a text, so that 1.0 would be the numbers 1 and 0.
func (e Engine) Sample(ctx context.Context, conn *sql.Conn, table plan.TableName, columns []engine.NarrowColumn) ([][]sql.NullString, error) {
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = "CAST(CAST(" + e.Quote(plan.TableName{Name: c.Name}) + " AS integer) AS text)"
	}
	_, texts, err := rows.Texts(ctx, conn, fmt.Sprintf("SELECT %s FROM %s LIMIT %d", strings.Join(values, ", "), e.Quote(table), sampleSize))
	return texts, err
}
