package myonline

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

const journal = "`" + mycatalog.OnlineTable + "`"

// open is true while a run is under way, and stays so where one did not come to
// its end.
const createJournal = "CREATE TABLE IF NOT EXISTS " + journal + ` (
  id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, plan longtext NOT NULL, open boolean NOT NULL DEFAULT FALSE,
  back boolean NOT NULL DEFAULT FALSE, stage int NOT NULL DEFAULT 0, done int NOT NULL DEFAULT 0,
  position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  rate double NOT NULL DEFAULT 0, waits bigint NOT NULL DEFAULT 0, steering varchar(1000) NOT NULL DEFAULT '{}', began bigint NOT NULL, beat bigint NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: an online widening that is under way'`

// identity names the move: a table has one at most.
func identity(m *engine.Move) string { return m.Plan.Tables[0].Name }

// LoadMove implements [engine.Online].
func (Driver) LoadMove(ctx context.Context, conn *sql.Conn, tables []engine.TableName) (*engine.Move, error) {
	var server mycatalog.Server
	var there bool
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(DATABASE(), ''), (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?)", mycatalog.OnlineTable).
		Scan(&server.Database, &there)
	if err != nil || !there {
		return nil, journalError("look for", err)
	}
	records, err := rows.Read[struct {
		engine.Record
		Began int64
	}](ctx, conn, "SELECT plan, back, stage, done, position, until, copied, rate, waits, steering, began FROM "+journal+" ORDER BY id")
	for _, r := range records {
		m, err := r.Move(time.Unix(0, r.Began))
		if err != nil {
			return nil, journalError("read", err)
		}
		// The tables of a move have no schema.
		if slices.ContainsFunc(tables, func(t engine.TableName) bool { return slices.Contains(m.Plan.Tables, server.Normal(t)) }) {
			return m, nil
		}
	}
	return nil, journalError("read", err)
}

func journalError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlmigrate: online: %s table %s: %w", what, mycatalog.OnlineTable, err)
}

// record begins the journal.
func record(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	plan, err := json.Marshal(m.Plan)
	if err == nil {
		_, err = conn.ExecContext(ctx, createJournal)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "INSERT INTO "+journal+" (id, plan, began, beat) VALUES (?, ?, ?, began) ON DUPLICATE KEY UPDATE id = id",
			identity(m), string(plan), time.Now().UnixNano())
	}
	return journalError("write", err)
}

// A querier is a connection, or its transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// SaveMove implements [engine.Online].
func (Driver) SaveMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	return save(context.WithoutCancel(ctx), conn, m)
}

func save(ctx context.Context, conn querier, m *engine.Move) error {
	result, err := conn.ExecContext(ctx, "UPDATE "+journal+" SET back = ?, stage = ?, done = ?, position = ?, until = ?, copied = ?, rate = ?, waits = ? WHERE id = ?",
		m.Back, m.From, m.Done, m.Position, m.Until, m.Copied, m.Rate, m.Waits, identity(m))
	if err != nil {
		return journalError("write", err)
	}
	if n, err := result.RowsAffected(); err == nil && n > 0 {
		return nil
	}
	return recorded(ctx, conn, m) // MariaDB does not count a row that is as it was
}

// recorded returns an error if the row of the move is gone.
func recorded(ctx context.Context, conn querier, m *engine.Move) error {
	var there bool
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+journal+" WHERE id = ?", identity(m)).Scan(&there); err != nil {
		return journalError("read", err)
	}
	if !there {
		return fmt.Errorf("sqlmigrate: online: table %s has lost the move of table %s: restore it from a backup, or drop shadows and triggers by hand", mycatalog.OnlineTable, m.Plan.Tables[0].Name)
	}
	return nil
}

// Steer implements [engine.Online].
func (Driver) Steer(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	text, err := json.Marshal(m.Steering)
	if err == nil {
		_, err = conn.ExecContext(ctx, "UPDATE "+journal+" SET steering = ? WHERE id = ?", string(text), identity(m))
	}
	return journalError("write", err)
}

// CloseMove implements [engine.Online].
func (Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(ctx, "DELETE FROM "+journal+" WHERE id = ?", identity(m)); err != nil {
		return journalError("write", err)
	}
	var others bool
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM "+journal).Scan(&others)
	if err == nil && !others {
		_, err = conn.ExecContext(ctx, "DROP TABLE "+journal)
	}
	return journalError("drop", err)
}
