package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gormflake/gormflake/lease"
)

// A store sends its statements to the pool itself, not through GORM, where
// callbacks, plugins and settings of the session could change them.
type store struct {
	config
	pool    *sql.DB
	dialect *dialect
	table   table

	load, look, insert, update string

	ready atomic.Bool
	gate  chan struct{} // held while the table is looked after
}

var _ lease.Store = (*store)(nil)

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	return bounded(ctx, s, func() (map[int]lease.Record, error) {
		if err := s.prepare(ctx); err != nil {
			return nil, err
		}
		var records map[int]lease.Record
		err := s.attempt(ctx, func(conn *sql.Conn) (err error) {
			records, err = s.loadAll(ctx, conn)
			return err
		})
		return records, err
	})
}

func (s *store) loadAll(ctx context.Context, conn *sql.Conn) (map[int]lease.Record, error) {
	rows, err := conn.QueryContext(ctx, s.load, s.namespace)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	records := map[int]lease.Record{}
	for rows.Next() {
		var worker int
		var r lease.Record
		var standby bool
		if err := rows.Scan(&worker, &r.Bound, &r.Owner, &standby); err != nil {
			return nil, err
		}
		if standby {
			return nil, errors.New("the server is a standby, which lags: want a DSN that leads to the primary (target_session_attrs=read-write)")
		}
		if err := s.checkWorker(records, worker); err != nil {
			return nil, err
		}
		records[worker] = r
	}
	return records, rows.Err()
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if err := storable(worker, to); err != nil {
		return false, err
	}
	return bounded(ctx, s, func() (bool, error) {
		if err := s.prepare(ctx); err != nil {
			return false, err
		}
		written, err := s.write(ctx, worker, from, to)
		if written {
			return true, nil
		}
		return s.resolve(ctx, worker, from, to, err)
	})
}

// storable refuses what a database might cut or clamp to the column's size.
func storable(worker int, r lease.Record) error {
	if worker != int(int32(worker)) {
		return fmt.Errorf("sqllease: worker %d is out of range: want 32 bits", worker)
	}
	if len(r.Owner) > maxOwner || !printable(r.Owner) {
		return fmt.Errorf("sqllease: owner %q: want at most %d characters of printable ASCII", r.Owner, maxOwner)
	}
	return nil
}

// write reports whether it was seen to write. Without an error it has not been
// seen to, which is not the same as not having written: see resolve.
func (s *store) write(ctx context.Context, worker int, from, to lease.Record) (written bool, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) (err error) {
		if from == (lease.Record{}) {
			written, err = exec(ctx, conn, s.insert, s.namespace, worker, to.Bound, to.Owner)
			if err == nil || s.classify(err) != duplicate {
				return err
			}
			// The row that is there may hold the zero record.
		}
		written, err = exec(ctx, conn, s.update, to.Bound, to.Owner, s.namespace, worker, from.Bound, from.Owner)
		return err
	})
	return written, err
}

func exec(ctx context.Context, conn *sql.Conn, statement string, args ...any) (bool, error) {
	result, err := conn.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// resolve looks at the record after a write that was not seen to happen.
//
// After an error that leaves it open, the record may tell. But no row changed
// is not always a no either: a statement that was sent twice, by the driver or
// by a proxy that lost the first answer, finds its own write and changes
// nothing. A token is made for one grant, so that we have written a record that
// is the new one to the token. And MySQL counts no row where the new record is
// the one before.
func (s *store) resolve(ctx context.Context, worker int, from, to lease.Record, err error) (bool, error) {
	is, lookErr := s.lookAt(ctx, worker)
	switch {
	case lookErr == nil && is == to && (to.Owner != "" || to == from):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, lookErr
}

func (s *store) lookAt(ctx context.Context, worker int) (r lease.Record, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, s.look, s.namespace, worker).Scan(&r.Bound, &r.Owner)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return lease.Record{}, nil
	}
	return r, err
}
