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

// durably calls write so that the commit of write is on disk when write returns. On SQLite it
// raises PRAGMA synchronous to EXTRA during the call. On PostgreSQL each write itself does
// so, by durableSQL, and MySQL has settings for it, which the store inspects. With
// AllowVolatile, durably changes no setting, because commits may then be lost.
func (s *store) durably(ctx context.Context, conn *sql.Conn, t tableName, write func() error) error {
	if s.dialect() != sqliteDialect || s.volatile {
		return write()
	}
	pragma := `PRAGMA "` + t.schema + `".synchronous` // each attached file has its own setting
	extra := func(level int) int { return max(level, synchronousExtra) }
	return withSetting(ctx, conn, pragma, pragma+" = %d", extra, write)
}

// waitForAll is a value of wsrep_sync_wait, whose bits stand for reads (1), UPDATE and DELETE
// (2), and INSERT and REPLACE (4). With all bits set, each of these statements first waits
// until its node of a Galera cluster has applied the writes that other nodes have
// acknowledged.
const waitForAll = 1 | 2 | 4

// synchronously calls f so that its statements see every acknowledged write. Only a node of
// a Galera cluster needs a setting for this. A read that does not see the latest writes
// would look like a store that has forgotten them.
func (s *store) synchronously(ctx context.Context, conn *sql.Conn, f func() error) error {
	if !s.clustered.Load() {
		return f()
	}
	all := func(wait int) int { return wait | waitForAll } // keeps bits that the program has set
	return withSetting(ctx, conn, "SELECT @@SESSION.wsrep_sync_wait"+oneRow, "SET SESSION wsrep_sync_wait = %d", all, f)
}

// withSetting calls f while a setting of the connection has another value, and restores the
// setting afterwards. The function change returns the value during f, for the value before.
// The statement get reads the setting. The statement set, in which %d is the value, changes
// the setting. withSetting restores the setting even if ctx has ended, because the
// connection belongs to the application's pool. If the restoring fails, it closes the
// connection.
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
