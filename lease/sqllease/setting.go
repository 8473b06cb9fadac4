package sqllease

import (
	"context"
	"database/sql"
	"fmt"
)

// synchronousExtra is PRAGMA synchronous=EXTRA, the only level under which SQLite loses
// no commit in a power failure with every kind of journal. With a write-ahead log, FULL
// is enough. With a rollback journal, SQLite commits by deleting the journal, and under
// FULL a power failure may bring the journal back.
const synchronousExtra = 3

// durably calls write so that its commit is on disk when it returns. Only SQLite needs
// this; the other databases get the same by their statements or settings.
func (s *store) durably(ctx context.Context, conn *sql.Conn, t tableName, write func() error) error {
	if s.dialect() != sqliteDialect || s.volatile {
		return write()
	}
	pragma := `PRAGMA "` + t.schema + `".synchronous`
	extra := func(level int) int { return max(level, synchronousExtra) }
	return withSetting(ctx, conn, pragma, pragma+" = %d", extra, write)
}

// waitForAll is a value of wsrep_sync_wait, whose bits are reads, UPDATE with DELETE, and
// INSERT with REPLACE. It makes all of these statements wait until their node of a Galera
// cluster has applied the writes that other nodes have acknowledged.
const waitForAll = 1 | 2 | 4

// synchronously calls f so that its statements see every acknowledged write. On a
// Galera cluster, a lagging read would look like a store that has forgotten.
func (s *store) synchronously(ctx context.Context, conn *sql.Conn, f func() error) error {
	if !s.clustered.Load() {
		return f()
	}
	all := func(wait int) int { return wait | waitForAll }
	return withSetting(ctx, conn, "SELECT @@SESSION.wsrep_sync_wait", "SET SESSION wsrep_sync_wait = %d", all, f)
}

// withSetting calls f while a setting of the connection has another value. The statement
// get reads the setting, change returns the value for f, and the statement set, in which
// %d is the value, sets it. Afterwards withSetting restores the setting, even if ctx has
// ended, because the connection belongs to the application's pool. If it cannot, it closes
// the connection.
func withSetting(ctx context.Context, conn *sql.Conn, get, set string, change func(int) int, f func() error) error {
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
	if _, restoreErr := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, before)); restoreErr != nil {
		discard(conn)
	}
	return err
}
