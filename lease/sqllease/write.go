package sqllease

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/lease"
)

// CompareAndSwap writes the record to in place of the record from of the worker. It returns
// true if the database has acknowledged the write, and false if the worker has another
// record than from. After an error, the write may have happened: see [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if err := checkStorable(worker, from, to); err != nil {
		return false, err
	}
	return onTable(ctx, s, func(t tableName) (bool, error) { return s.write(ctx, t, worker, from, to) })
}

// checkStorable returns an error for values that a database might cut to the column's size,
// or replace by the column's largest value. It also returns an error if from and to are
// equal. MySQL by default counts a row only if its values change, so that the answer would not
// show whether the record was from.
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
// write repeats the statement only after an error that means that the database has not
// applied it. A proxy may send a statement twice and lose the first answer. The second
// statement then finds the new record and changes no row, so that write returns false
// although the record was written. A caller that reads the records after that finds its own
// new record. The caller must not count the record as written, because the database may lose
// a write that it has not acknowledged.
func (s *store) write(ctx context.Context, t tableName, worker int, from, to lease.Record) (written bool, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) error {
		return s.durably(ctx, conn, t, func() (err error) {
			written, err = s.writeOn(ctx, conn, t, worker, from, to)
			return err
		})
	})
	return written, err
}

// writeOn adds or replaces the record over the connection, and reports whether a row was
// added or changed. The zero record stands for a record that does not exist. If from is the
// zero record, writeOn therefore tries an INSERT first, and an UPDATE only if the row exists.
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

// update replaces the record from by the record to, and returns how many rows the UPDATE has
// changed. In a Galera cluster, another node may have written from, and this node may not
// have applied that write yet. The UPDATE then changes no row. In a cluster, update
// therefore sends an UPDATE that has changed no row a second time, after the node has
// applied all acknowledged writes.
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

// apply executes the statement, an INSERT or UPDATE, and returns the number of rows that it
// has changed. On most databases the statement is a transaction of its own.
//
// If the dialect has a begin, as for TiDB, apply executes the statement in an explicit
// transaction. It commits if the statement has changed exactly one row, and returns an error
// if the commit is not acknowledged. In all other cases it rolls back, even if ctx has
// ended, because the connection goes back to the pool.
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
