package sqllease

import (
	"context"
	"database/sql"
	"strconv"
)

// durably calls write while the connection is set to wait for the disk, and
// then sets it back: the pool is the application's.
func (s *store) durably(ctx context.Context, conn *sql.Conn, t table, write func() error) error {
	if s.dialect.durably == nil || s.volatile {
		return write()
	}
	return s.dialect.durably(ctx, conn, t, write)
}

// synchronousExtra is the one setting under which SQLite loses no commit when
// the power fails, whatever the journal is. FULL is as much with a write-ahead
// log, but not with a journal whose deletion commits, and may be undone.
const synchronousExtra = 3

func durablySQLite(ctx context.Context, conn *sql.Conn, t table, write func() error) error {
	pragma := "PRAGMA synchronous"
	if t.schema != "" {
		pragma = `PRAGMA "` + t.schema + `".synchronous`
	}
	var before int
	if err := conn.QueryRowContext(ctx, pragma).Scan(&before); err != nil {
		return err
	}
	if before >= synchronousExtra {
		return write()
	}
	set := func(ctx context.Context, level int) error {
		_, err := conn.ExecContext(ctx, pragma+" = "+strconv.Itoa(level))
		return err
	}
	if err := set(ctx, synchronousExtra); err != nil {
		return err
	}
	err := write()
	if set(context.WithoutCancel(ctx), before) != nil {
		discard(conn)
	}
	return err
}
