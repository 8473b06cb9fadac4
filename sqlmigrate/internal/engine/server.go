package engine

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/internal/compatible"
)

// CheckServer refuses a server that only speaks the protocol of what is wanted.
// Its catalog answers, but a plan made from it could leave out half of the
// schema, or rewrite a table that is spread over machines.
func CheckServer(ctx context.Context, conn *sql.Conn, want string) error {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if found := compatible.Engine(version); found != "" {
		return fmt.Errorf("sqlmigrate: the server is %s (%s): want %s: move its tables with its own tools, as docs/engines.md shows", found, version, want)
	}
	return nil
}
