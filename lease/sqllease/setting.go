package sqllease

import (
	"context"
	"database/sql"
	"fmt"
)

// synchronousExtra is the only setting under which SQLite loses no commit in a power
// failure with every kind of journal. With a write-ahead log FULL is enough. With a
// rollback journal, deleting the journal commits, and under FULL a power failure may
// undo that.
const synchronousExtra = 3

// durably calls write so that its commit is on disk when it returns. Only SQLite needs
// this; the other databases get the same by their statements or settings.
func (s *store) durably(ctx context.Context, conn *sql.Conn, t table, write func() error) error {
	if s.dialect() != sqliteDialect || s.volatile {
		return write()
	}
	pragma := `PRAGMA "` + t.schema + `".synchronous`
	extra := func(level int) int { return max(level, synchronousExtra) }
	return while(ctx, conn, pragma, pragma+" = %d", extra, write)
}

// waitForAll makes every kind of statement (reads, UPDATE and DELETE, INSERT and
// REPLACE) wait until its node of a Galera cluster has applied the writes that other
// nodes have acknowledged.
const waitForAll = 1 | 2 | 4

// synchronously calls f so that its statements see every acknowledged write. On a
// Galera cluster, a lagging read would look like a store that has forgotten.
func (s *store) synchronously(ctx context.Context, conn *sql.Conn, f func() error) error {
	if !s.clustered.Load() {
		return f()
	}
	all := func(wait int) int { return wait | waitForAll }
	return while(ctx, conn, "SELECT @@SESSION.wsrep_sync_wait", "SET SESSION wsrep_sync_wait = %d", all, f)
}

// while reads a setting with the statement get, sets it to change of the value with the
// statement set, calls f, and restores the setting, because the connection belongs to
// the application's pool. If it cannot restore the setting, it closes the connection.
func while(ctx context.Context, conn *sql.Conn, get, set string, change func(int) int, f func() error) error {
	var before int
	if err := conn.QueryRowContext(ctx, get).Scan(&before); err != nil {
		return err
	}
	during := change(before)
	if during == before {
		return f()
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(set, during)); err != nil {
		return err
	}
	err := f()
	if _, failed := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, before)); failed != nil {
		discard(conn)
	}
	return err
}
