package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// sqliteEngine changes the catalog only. Every integer column of SQLite holds 64
// bits, so there is no phase widen, and no table is ever rebuilt: dropping the
// old one would delete the rows that refer to it by ON DELETE CASCADE, without
// an error.
//
// AUTOINCREMENT is taken out of the text from which SQLite makes the table each
// time it opens the database. The stored rows are the same with it and without.
type sqliteEngine struct{}

func (sqliteEngine) inspect(ctx context.Context, conn *sql.Conn, want request) (_ *Plan, err error) {
	// Not BeginTx: drivers can be set to take the writer lock there.
	if err := sqliteUncancelled(ctx, conn, "BEGIN"); err != nil {
		return nil, fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	defer func() { err = errors.Join(err, sqliteEnd(ctx, conn)) }()
	in := &sqliteInspection{
		ctx: ctx, conn: conn, want: want,
		tables: map[string]*sqliteTable{},
		views:  map[string]bool{},
		moved:  map[sqliteColumnID]bool{},
	}
	for _, step := range []func() error{in.readTables, in.readReferences, in.resolve, in.connect, in.measure} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return in.plan(), nil
}

// A sqliteInspection is the work of one call of inspect.
type sqliteInspection struct {
	ctx  context.Context
	conn *sql.Conn
	want request

	tables   map[string]*sqliteTable // by their folded names
	views    map[string]bool         // likewise
	triggers []sqliteTrigger
	edges    []sqliteEdge
	moved    map[sqliteColumnID]bool
	affected []*sqliteTable // those of moved columns, by name
	blockers []Blocker
	notes    []string
}

func (in *sqliteInspection) block(table, object, reason, mend string) {
	in.blockers = append(in.blockers, Blocker{table, object, reason, mend})
}

func (in *sqliteInspection) note(format string, args ...any) {
	in.notes = append(in.notes, fmt.Sprintf(format, args...))
}

// each calls f for each row of a query.
func (in *sqliteInspection) each(query string, f func(*sql.Rows) error, args ...any) error {
	rows, err := in.conn.QueryContext(in.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return fmt.Errorf("sqlmigrate: inspect: %w", err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	return nil
}
