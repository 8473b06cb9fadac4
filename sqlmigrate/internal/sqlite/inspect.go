package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Inspect implements [engine.Engine]. It reads the schema. It marks as moved the keys of
// the requested tables, and all columns that references connect with these keys. Then it
// makes a plan for the tables of the marked columns.
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (_ *engine.Result, err error) {
	// All queries run in one transaction, so that they read the same state of the
	// database. BeginTx is not used, because a driver can be configured so that BeginTx
	// takes the writer lock.
	if err := runToEnd(ctx, conn, "BEGIN"); err != nil {
		return nil, fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	defer func() { err = errors.Join(err, endTransaction(ctx, conn)) }()
	r := &reader{conn: conn}
	s := readSchema(ctx, r)
	if r.err != nil {
		return nil, r.err
	}
	if err := s.addReferences(want.References); err != nil {
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
