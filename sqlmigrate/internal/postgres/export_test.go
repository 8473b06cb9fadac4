package postgres

import (
	"context"
	"database/sql"
)

// End ends the transaction of conn over other, but takes it for the one of
// a server started later, or for a later one.
func End(ctx context.Context, conn, other *sql.Conn, server int64, transaction string) error {
	var b backend
	if err := conn.QueryRowContext(ctx, backendSQL).Scan(&b.server, &b.pid, &b.transaction); err != nil {
		return err
	}
	b.server += server
	b.transaction += transaction
	return b.End(ctx, other)
}
