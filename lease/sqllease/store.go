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

// A store sends its statements over connections of its pool, not through GORM,
// where callbacks, plugins and settings of the session could change them.
type store struct {
	*shared
	pin *pin // nil: any connection of the pool
}

var (
	_ lease.Connector = (*store)(nil)
	_ lease.Getter    = (*store)(nil)
	_ lease.Queue     = (*store)(nil)
	_ lease.Checker   = (*store)(nil)
)

// shared is what a store has in common with those that [store.Connect] makes
// of it.
type shared struct {
	config
	stores.Turns
	chosen atomic.Pointer[dialect]
	table  table

	// ready is the table with the schema in which it was found at first use, when it
	// was created and checked: to a session, the name alone may mean another one later.
	ready     atomic.Pointer[table]
	clustered atomic.Bool   // see [isClustered]
	gate      chan struct{} // held while the table is created and checked

	places atomic.Int64 // that calls wait in, in addition to one each

	warned sync.Map // by text, for warnOnce
	mu     sync.Mutex
	noted  map[string][]finding // by server
}

// dialect is the one that the caller has named, or its variant, once a connection has
// shown which server answers.
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

// storable refuses what a database might cut or clamp to the column's size, and
// a write that changes nothing: its answer could not show that it was made, and
// MySQL would count no row for it.
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

// write reports whether it was seen to write.
//
// It repeats the statement only after errors by which it has not been applied.
// A proxy that sends a statement twice, and loses the first answer, makes a no
// of a yes: the caller then reads its own record as it would read another's, and
// may not count it either.
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
		// The row that is there may hold the zero record.
	}
	rows, err := s.update(ctx, conn, t, worker, from, to)
	if err == nil && rows > 1 {
		err = fmt.Errorf("the UPDATE has changed %d rows: want a unique key of table %s over (namespace, worker_id)", rows, s.table.quoted)
	}
	return err == nil && rows == 1, err
}

// update returns how many rows the UPDATE has changed. In a cluster, a node that
// has yet to apply the row that it is to replace changes none: only one that has
// caught up can tell that the record differs.
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

// apply executes a write. Where a statement is not a transaction of its own, the write
// is committed if it has changed one row, and counts once the commit is acknowledged.
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

// An execer is a connection, or a transaction on one.
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
