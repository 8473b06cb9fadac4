// Package sqlite is the part of package sqlmigrate that is for SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Engine changes the catalog only. Every integer column of SQLite holds 64
// bits, so there is no phase widen, and no table is ever rebuilt: dropping the
// old one would delete the rows that refer to it by ON DELETE CASCADE, without
// an error.
//
// AUTOINCREMENT is taken out of the text from which SQLite makes the table each
// time it opens the database. The stored rows are the same with it and without.
type Engine struct{}

// Inspect implements [engine.Engine].
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (_ *engine.Result, err error) {
	// Not BeginTx: drivers can be set to take the writer lock there.
	if err := uncancelled(ctx, conn, "BEGIN"); err != nil {
		return nil, fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	defer func() { err = errors.Join(err, endTransaction(ctx, conn)) }()
	in := &inspection{
		ctx: ctx, conn: conn, want: want,
		tables: map[string]*table{},
		views:  map[string]bool{},
		moved:  map[columnID]bool{},
	}
	for _, step := range []func() error{in.readTables, in.readReferences, in.resolve, in.connect, in.measure} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return in.plan(), nil
}

// An inspection is the work of one call of inspect.
type inspection struct {
	ctx  context.Context
	conn *sql.Conn
	want engine.Request

	tables   map[string]*table // by their folded names
	views    map[string]bool   // likewise
	triggers []trigger
	edges    []edge
	moved    map[columnID]bool
	affected []*table // the tables of moved columns, by name
	blockers []plan.Blocker
	notes    []string
}

func (in *inspection) block(table, object, reason, fix string) {
	in.blockers = append(in.blockers, plan.Blocker{Table: table, Object: object, Reason: reason, Fix: fix})
}

func (in *inspection) note(format string, args ...any) {
	in.notes = append(in.notes, fmt.Sprintf(format, args...))
}

// each calls f for each row of a query.
func (in *inspection) each(query string, f func(*sql.Rows) error, args ...any) error {
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
