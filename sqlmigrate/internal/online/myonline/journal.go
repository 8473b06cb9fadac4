package myonline

import (
	"context"
	"database/sql"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
)

const journal = mycatalog.OnlineTable

// open is true while a run is under way, and stays so where one did not come to
// its end.
const createJournal = "CREATE TABLE IF NOT EXISTS " + journal + ` (
  id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, plan longtext NOT NULL, open boolean NOT NULL DEFAULT FALSE,
  back boolean NOT NULL DEFAULT FALSE, stage int NOT NULL DEFAULT 0, done int NOT NULL DEFAULT 0,
  position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  rate double NOT NULL DEFAULT 0, waits bigint NOT NULL DEFAULT 0, steering varchar(1000) NOT NULL DEFAULT '{}', began bigint NOT NULL, beat bigint NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: an online widening that is under way'`

// New returns the driver.
func New() Driver {
	return Driver{engine.Journal{
		Table:   func(*engine.Move) string { return journal },
		Literal: mycatalog.Literal,
		Began:   "began",
		Parts:   "shadows",
	}}
}

// LoadMove implements [engine.Online]. The tables of a move have no schema.
func (d Driver) LoadMove(ctx context.Context, conn *sql.Conn, tables []engine.TableName) (*engine.Move, error) {
	var server mycatalog.Server
	var there bool
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(DATABASE(), ''), (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?)", journal).
		Scan(&server.Database, &there)
	if err != nil || !there {
		return nil, engine.JournalError("look for", journal, err)
	}
	known := make([]engine.TableName, len(tables))
	for i, t := range tables {
		known[i] = server.Normal(t)
	}
	return d.Find(ctx, conn, journal, known)
}

// CloseMove implements [engine.Online].
func (d Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(ctx, "DELETE FROM "+journal+" WHERE id = ?", m.Plan.ID()); err != nil {
		return engine.JournalError("write", journal, err)
	}
	var others bool
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM "+journal).Scan(&others)
	if err == nil && !others {
		_, err = conn.ExecContext(ctx, "DROP TABLE "+journal)
	}
	return engine.JournalError("drop", journal, err)
}
