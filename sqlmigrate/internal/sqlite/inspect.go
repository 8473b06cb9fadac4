// Package sqlite is the part of package sqlmigrate that is for SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
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
