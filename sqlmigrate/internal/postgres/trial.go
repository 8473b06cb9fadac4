package postgres

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Try implements [engine.Engine].
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (engine.Findings, error) {
	return engine.Findings{}, nil
}
