package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// Load returns all records of the namespace.
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, _, err := s.Get(ctx, nil)
	return records, err
}

// Get implements [lease.Getter]. It returns the records of these keys, or all records if
// there are no keys. It also returns the server's time, which is zero on SQLite. On a node of
// a Galera cluster, the read waits until the node has applied every acknowledged write.
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	r, err := onTable(ctx, s, func(t tableName) (r reading, err error) {
		statement, args := s.selection(t, keys)
		err = s.attempt(ctx, func(conn *sql.Conn) error {
			return s.synchronously(ctx, conn, func() error {
				r.records = map[int]lease.Record{} // a repeated attempt reads all rows again
				return eachRow(ctx, conn, statement, args, func(rows *sql.Rows) error { return s.scan(rows, &r) })
			})
		})
		return r, err
	})
	return r.records, r.time, err
}

// A reading is the result of one statement that reads records and the server's clock.
type reading struct {
	records map[int]lease.Record // by worker
	time    time.Time            // zero if the database has no clock
}

// selection returns the statement that reads the records of these keys, which are worker
// IDs or layoutKey. If keys is empty, the statement reads all records. The statement ends
// with a LIMIT, because on MySQL a session can have a default limit.
func (s *store) selection(t tableName, keys []int) (statement string, args []any) {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(keys), "[]"), " ", ",") // for example "3,17"
	statement, args = s.dialect().readStatement(s.dialect().load, t), []any{s.namespace}
	switch {
	case len(keys) == 0: // all workers
	case s.dialect().get == "":
		statement += " AND worker_id IN (" + list + ")"
	default: // PostgreSQL has a statement of its own for keys
		statement, args = s.dialect().readStatement(s.dialect().get, t), append(args, list)
	}
	return statement + noLimit, args
}

// scan adds a row to the reading. Each row contains a record, the server's clock and whether
// the server is a standby. If there is no record, the statement returns one row, whose
// worker is NULL. scan returns an error if the server is a standby, whose records may be
// old, or if the row is invalid.
func (s *store) scan(rows *sql.Rows, r *reading) error {
	var worker, bound, clock sql.NullInt64
	var owner sql.NullString
	var standby bool
	if err := rows.Scan(&worker, &bound, &owner, &standby, &clock); err != nil {
		return err
	}
	if clock.Valid {
		r.time = time.UnixMicro(clock.Int64)
	}
	switch err := s.checkWorker(r.records, int(worker.Int64)); {
	case standby:
		return fmt.Errorf("%w: want %s", errStandby, s.dialect().primary)
	case !worker.Valid:
		return nil
	case err != nil:
		return err
	case !bound.Valid || !owner.Valid:
		return fmt.Errorf("worker %d of namespace %q has NULL as its bound or owner: set both, or delete the row while no process holds the worker", worker.Int64, s.namespace)
	}
	r.records[int(worker.Int64)] = lease.Record{Bound: bound.Int64, Owner: owner.String}
	return nil
}

// layoutKey is the key of the record that describes the layout of the IDs. All other keys
// are worker IDs, so it is the lowest key.
const layoutKey = -1

// checkWorker returns an error for a second record of a worker, which the table's unique
// key should have prevented. It also returns an error for a worker below layoutKey, or
// beyond 32 bits, because no store has written such a worker. records are the records that
// were read before.
func (s *store) checkWorker(records map[int]lease.Record, worker int) error {
	if _, twice := records[worker]; twice {
		return s.tableError(Flaw{
			Found: fmt.Sprintf("worker %d of namespace %q has two rows", worker, s.namespace),
			Want:  "one",
			Fix:   s.dialect().rebuild(s.table),
		})
	}
	if worker < layoutKey || worker != int(int32(worker)) {
		return s.tableError(Flaw{
			Found: fmt.Sprintf("namespace %q has a row of worker %d", s.namespace, worker),
			Want:  "at least -1 and 32 bits",
			Fix:   fmt.Sprintf("DELETE FROM %s WHERE worker_id = %d", s.table.quoted, worker),
		})
	}
	return nil
}
