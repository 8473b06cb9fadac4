package mysql

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Try implements [engine.Engine].
func (Engine) Try(context.Context, *sql.Conn, engine.Trial) (engine.Findings, error) {
	return engine.Findings{}, nil
}
