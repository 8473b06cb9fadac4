package sqlmigrate

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// PostgresScripts are the texts of the files of each phase, up and down.
func PostgresScripts(p *Plan, format Format) (up, down []string) {
	for _, phase := range p.Phases {
		up = append(up, engines["postgres"].Script(statementsOf(phase.up()), engine.Format(format)))
		down = append(down, engines["postgres"].Script(statementsOf(phase.down()), engine.Format(format)))
	}
	return up, down
}

// EndPostgres ends the transaction of conn over other, but takes it for that of
// a server started later, or for a later one.
func EndPostgres(ctx context.Context, conn, other *sql.Conn, server int64, transaction string) error {
	var b pgBackend
	if err := conn.QueryRowContext(ctx, pgBackendSQL).Scan(&b.server, &b.pid, &b.transaction); err != nil {
		return err
	}
	b.server += server
	b.transaction += transaction
	return b.End(ctx, other)
}
