package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// A store sends its statements over connections of its pool. It does not use GORM,
// because callbacks, plugins and settings of a session could change the statements.
type store struct {
	*shared
	pin *pin // nil if the store uses any connection of the pool
}

var (
	_ lease.Connector = (*store)(nil)
	_ lease.Getter    = (*store)(nil)
	_ lease.Queue     = (*store)(nil)
	_ lease.Checker   = (*store)(nil)
)

// shared is the state that a store shares with the stores that [store.Connect] returns.
type shared struct {
	config
	stores.Turns
	chosen atomic.Pointer[dialect]
	table  table

	// ready is the table after it was created and checked at first use, with the schema
	// in which it was found. The name alone could mean another table in a later
	// session.
	ready     atomic.Pointer[table]
	clustered atomic.Bool   // whether the server is a node of a Galera cluster
	gate      chan struct{} // held while the table is created and checked

	places atomic.Int64 // in the pool's queue, beyond the first place of each call

	warned sync.Map // texts that warnOnce has logged
	mu     sync.Mutex
	noted  map[string][]finding // last findings of each server
}

// dialect returns the dialect that the caller has named, or once a connection has shown
// that the server needs it, its variant.
func (s *shared) dialect() *dialect { return s.chosen.Load() }

var errStandby = errors.New("the server is a standby, which lags")

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, _, err := s.Get(ctx, nil)
	return records, err
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if err := storable(worker, from, to); err != nil {
		return false, err
	}
	return onTable(ctx, s, func(t table) (bool, error) { return s.write(ctx, t, worker, from, to) })
}

// storable returns an error for values that a database might cut or clamp to the
// column's size. It also refuses a write that changes nothing, because MySQL counts no
// row for it, so that the answer would not show whether the write was made.
func storable(worker int, from, to lease.Record) error {
	if worker != int(int32(worker)) {
		return fmt.Errorf("sqllease: worker %d is out of range: want 32 bits", worker)
	}
	if len(to.Owner) > maxOwner || unprintable.MatchString(to.Owner) {
		return fmt.Errorf("sqllease: owner %q: want at most %d characters of printable ASCII", to.Owner, maxOwner)
	}
	if from == to {
		return fmt.Errorf("sqllease: the old and the new record of worker %d are both %+v: want a new one that differs", worker, to)
	}
	return nil
}

// write replaces the record and reports whether the store has acknowledged the write.
//
// It repeats the statement only after errors that mean that it was not applied. A proxy
// that sends a statement twice, and loses the first answer, turns success into false.
// The caller then reads its own new record, and must not count it as written either.
func (s *store) write(ctx context.Context, t table, worker int, from, to lease.Record) (written bool, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) error {
		return s.durably(ctx, conn, t, func() (err error) {
			written, err = s.writeOn(ctx, conn, t, worker, from, to)
			return err
		})
	})
	return written, err
}

func (s *store) writeOn(ctx context.Context, conn *sql.Conn, t table, worker int, from, to lease.Record) (bool, error) {
	if from == (lease.Record{}) {
		rows, err := s.apply(ctx, conn, fmt.Sprintf(s.dialect().insert, t.quoted), s.namespace, worker, to.Bound, to.Owner)
		switch {
		case err == nil && rows == 1:
			return true, nil
		case err == nil:
			return false, fmt.Errorf("the INSERT has added %d rows: want 1; look for a trigger or a rule of table %s", rows, s.table.quoted)
		case s.classify(err) != duplicate:
			return false, err
		}
		// The existing row may hold the zero record.
	}
	rows, err := s.update(ctx, conn, t, worker, from, to)
	if err == nil && rows > 1 {
		err = fmt.Errorf("the UPDATE has changed %d rows: want a unique key of table %s over (namespace, worker_id)", rows, s.table.quoted)
	}
	return err == nil && rows == 1, err
}

// update returns how many rows the UPDATE has changed. In a Galera cluster, a node that
// has not yet applied the latest version of the row changes none. update therefore
// repeats a statement that has changed no row after the node has caught up.
func (s *store) update(ctx context.Context, conn *sql.Conn, t table, worker int, from, to lease.Record) (rows int64, err error) {
	once := func() (err error) {
		rows, err = s.apply(ctx, conn, fmt.Sprintf(s.dialect().update, t.quoted), to.Bound, to.Owner, s.namespace, worker, from.Bound, from.Owner)
		return err
	}
	if err = once(); err == nil && rows == 0 && s.clustered.Load() {
		err = s.synchronously(ctx, conn, once)
	}
	return rows, err
}

// apply executes a write and returns the number of rows. If the dialect needs an
// explicit transaction, it commits after a change of exactly one row, and the write
// counts once the commit is acknowledged.
func (s *store) apply(ctx context.Context, conn *sql.Conn, statement string, args ...any) (rows int64, err error) {
	begin := s.dialect().begin
	if begin == "" {
		return exec(ctx, conn, statement, args...)
	}
	if _, err = conn.ExecContext(ctx, begin); err != nil {
		return 0, err
	}
	if rows, err = exec(ctx, conn, statement, args...); err == nil && rows == 1 {
		if _, err = conn.ExecContext(ctx, "COMMIT"); err == nil {
			return rows, nil
		}
	}
	if _, failed := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); failed != nil {
		discard(conn)
	}
	return rows, err
}

// An execer is a connection, or a transaction on a connection.
type execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func exec(ctx context.Context, conn *sql.Conn, statement string, args ...any) (rows int64, err error) {
	result, err := conn.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
