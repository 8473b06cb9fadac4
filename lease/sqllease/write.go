package sqllease

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/lease"
)

// CompareAndSwap replaces the record of the worker by to if it equals from, and reports
// whether the database has acknowledged that. After an error, the write may have happened:
// see [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if err := checkStorable(worker, from, to); err != nil {
		return false, err
	}
	return onTable(ctx, s, func(t tableName) (bool, error) { return s.write(ctx, t, worker, from, to) })
}

// checkStorable returns an error for values that a database might cut to the column's size,
// or replace by the column's largest value. It also refuses a write that changes nothing,
// because MySQL counts no row for it, so that the answer would not show whether the write
// was made.
func checkStorable(worker int, from, to lease.Record) error {
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
// It repeats the statement only after errors that mean that it was not applied. A proxy may
// send a statement twice and lose the first answer. The second statement then finds the new
// record and changes no row, so that write returns false although the record was written. A
// caller that reads the records after that finds its own new record. It must not count the
// record as written, because the store may lose a write that it has not acknowledged.
func (s *store) write(ctx context.Context, t tableName, worker int, from, to lease.Record) (written bool, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) error {
		return s.durably(ctx, conn, t, func() (err error) {
			written, err = s.writeOn(ctx, conn, t, worker, from, to)
			return err
		})
	})
	return written, err
}

// writeOn adds or replaces the record over the connection, and reports whether it has
// changed a row. The zero record stands for a record that does not exist, so if from is the
// zero record, it first tries an INSERT.
func (s *store) writeOn(ctx context.Context, conn *sql.Conn, t tableName, worker int, from, to lease.Record) (bool, error) {
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
		// The row exists, and may hold the zero record, which the UPDATE then replaces.
	}
	rows, err := s.update(ctx, conn, t, worker, from, to)
	if err == nil && rows > 1 {
		err = fmt.Errorf("the UPDATE has changed %d rows: want a unique key of table %s over (namespace, worker_id)", rows, s.table.quoted)
	}
	return err == nil && rows == 1, err
}

// update returns how many rows the UPDATE has changed. A node of a Galera cluster may not
// have applied the write of another node that has given the row the values of from. An
// UPDATE on this node then changes no row. In a cluster, update therefore sends an UPDATE
// that has changed no row once more, and the node first applies all acknowledged writes.
func (s *store) update(ctx context.Context, conn *sql.Conn, t tableName, worker int, from, to lease.Record) (rows int64, err error) {
	tryOnce := func() (err error) {
		rows, err = s.apply(ctx, conn, fmt.Sprintf(s.dialect().update, t.quoted), to.Bound, to.Owner, s.namespace, worker, from.Bound, from.Owner)
		return err
	}
	if err = tryOnce(); err == nil && rows == 0 && s.clustered.Load() {
		err = s.synchronously(ctx, conn, tryOnce)
	}
	return rows, err
}

// apply executes a write and returns the number of rows that it has changed. Most databases
// need no more than the statement.
//
// If the dialect needs an explicit transaction, as TiDB does, apply commits after a change
// of exactly one row, and the write counts once the commit is acknowledged. Otherwise it
// rolls back, even if ctx has ended, because the connection goes back to the pool.
func (s *store) apply(ctx context.Context, conn *sql.Conn, statement string, args ...any) (rows int64, err error) {
	begin := s.dialect().begin
	if begin == "" {
		return execCounting(ctx, conn, statement, args...)
	}
	if _, err = conn.ExecContext(ctx, begin); err != nil {
		return 0, err
	}
	if rows, err = execCounting(ctx, conn, statement, args...); err == nil && rows == 1 {
		if _, err = conn.ExecContext(ctx, "COMMIT"); err == nil {
			return rows, nil
		}
	}
	if _, rollbackErr := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); rollbackErr != nil {
		discard(conn)
	}
	return rows, err
}

// execCounting executes the statement and returns the number of rows that it has changed.
func execCounting(ctx context.Context, conn *sql.Conn, statement string, args ...any) (rows int64, err error) {
	result, err := conn.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
