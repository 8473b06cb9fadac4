// Package sqlite plans and runs the move of tables in SQLite. Package sqlmigrate calls
// the methods of [Engine], and package run calls its Run.
//
// [Engine.Inspect] reads the schema (schema.go), follows references (connect.go) and
// computes the phases (plan.go). trial.go tries keys in copies of tables.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Engine implements [engine.Engine] for SQLite. It only changes the catalog. Every
// integer column of SQLite holds 64 bits, so there is no phase widen, and the engine
// never rebuilds a table. To rebuild a table, it would have to drop the old table, which
// deletes the rows that refer to it by ON DELETE CASCADE, without an error.
//
// To detach a key, the engine removes AUTOINCREMENT from the table's SQL text in the
// catalog, from which SQLite builds the table each time it opens the database.
// AUTOINCREMENT has no effect on the stored rows.
type Engine struct{}

// Inspect implements [engine.Engine].
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (_ *engine.Result, err error) {
	// BeginTx is not used, because drivers can be configured to take the writer lock in
	// it.
	if err := uncancelled(ctx, conn, "BEGIN"); err != nil {
		return nil, fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	defer func() { err = errors.Join(err, endTransaction(ctx, conn)) }()
	r := &reader{conn: conn}
	s := readSchema(ctx, r)
	if r.err != nil {
		return nil, r.err
	}
	if err := s.referAll(want.References); err != nil {
		return nil, err
	}
	found, err := s.choose(want.Tables)
	if err != nil {
		return nil, err
	}
	affected := s.connect()
	for _, t := range affected {
		t.measure(ctx, r)
	}
	s.readSequences(ctx, r)
	if r.err != nil {
		return nil, r.err
	}
	return s.plan(affected, want, found), nil
}

// Quote implements [engine.Engine].
func (Engine) Quote(t plan.TableName) string { return t.Quoted(`"`) }

// absentText matches the drivers' errors for a table or schema that does not exist.
var absentText = regexp.MustCompile(`no such table|unknown database`)

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return true }

// lockedText matches the drivers' errors after a busy_timeout.
var lockedText = regexp.MustCompile(`database (table )?is locked`)

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool { return lockedText.MatchString(err.Error()) }

// Survey implements [engine.Engine]. The only narrow columns are those with affinity
// REAL, because they store a key as a float with 53 bits. All other columns store 64
// bits.
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
				s.Columns = append(s.Columns, engine.NarrowColumn{Table: name, Name: c.Name, Type: c.Type, Alone: c.Key == 1, Change: "make it an INTEGER column"})
			}
		}
	}
	return s, r.err
}

// isReal reports whether a type has the affinity REAL, by the rules of SQLite.
func isReal(typ string) bool {
	contains := func(part string) bool { return strings.Contains(strings.ToUpper(typ), part) }
	switch {
	case contains("INT"), contains("CHAR"), contains("CLOB"), contains("TEXT"), contains("BLOB"):
		return false
	}
	return contains("REAL") || contains("FLOA") || contains("DOUB") //nolint:misspell // SQLite's own words
}

const sampled = 1000

// Sample implements [engine.Engine].
func (e Engine) Sample(ctx context.Context, conn *sql.Conn, table plan.TableName, columns []engine.NarrowColumn) ([][]sql.NullString, error) {
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = "CAST(CAST(" + e.Quote(plan.TableName{Name: c.Name}) + " AS integer) AS text)"
	}
	_, texts, err := rows.Texts(ctx, conn, fmt.Sprintf("SELECT %s FROM %s LIMIT %d", strings.Join(values, ", "), e.Quote(table), sampled))
	return texts, err
}
