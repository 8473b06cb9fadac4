package sqllease

import (
	"context"
	"database/sql"
	"fmt"
)

// while calls f while a setting of the connection, which get selects, is what change
// makes of it, and then sets it back: the pool is the application's.
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
