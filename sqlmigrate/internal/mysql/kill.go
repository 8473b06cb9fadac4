package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

// End implements [engine.Backend].
func (s *Session) End(ctx context.Context, other *sql.Conn) error {
	ended, err := s.Ended(ctx, other)
	if ended || err != nil {
		return err
	}
	s.killed = true
	_, err = other.ExecContext(ctx, s.EndSQL())
	if ended, _ := s.Ended(ctx, other); ended { // it was faster
		return nil
	}
	return err
}

// Ended implements [engine.Backend]. It is true once the name is released, which comes
// after the locks.
func (s *Session) Ended(ctx context.Context, other *sql.Conn) (bool, error) {
	var ended bool
	err := other.QueryRowContext(ctx, fmt.Sprintf("SELECT COALESCE(IS_USED_LOCK('%s') <> %d, TRUE)", s.name, s.id)).Scan(&ended)
	return ended, err
}

// EndSQL implements [engine.Backend].
func (s *Session) EndSQL() string { return fmt.Sprintf("KILL %d", s.id) }

// end ends the session on the server after conn was lost. A session of MariaDB that is
// killed while it opens a table leaves the table's triggers unreadable to all others.
func (s *Session) end(ctx context.Context, conn *sql.Conn, pool *sql.DB, err error) error {
	err = engine.EndBackend(ctx, conn, pool, s, err)
	if !s.killed {
		return err
	}
	if failed := readTriggersAgain(ctx, pool); failed != nil && err != nil {
		return fmt.Errorf("%w; if programs get error 1064, “has an error in its body”, run: FLUSH TABLES (%w)", err, failed)
	}
	return err
}

var lockWait = regexp.MustCompile(`Error 1205\b`)

// readTriggersAgain makes MariaDB forget the opened tables that have triggers.
func readTriggersAgain(ctx context.Context, pool *sql.DB) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.EndTimeout)
	defer cancel()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.ReturnConn(conn)) }()
	tables, err := rows.Read[string](ctx, conn, triggeredSQL)
	if err != nil || len(tables) == 0 {
		return err
	}
	_, err = conn.ExecContext(ctx, "SET STATEMENT lock_wait_timeout = 1 FOR FLUSH TABLES "+mycatalog.Join(tables, ", ", mycatalog.Quote))
	if err == nil || lockWait.MatchString(err.Error()) { // those in use are forgotten when they are free
		return nil
	}
	for _, t := range tables { // without the right to flush
		if _, err := conn.ExecContext(ctx, "SET STATEMENT lock_wait_timeout = 1 FOR ALTER TABLE "+mycatalog.Quote(t)+" ENABLE KEYS"); err != nil {
			return err
		}
	}
	return nil
}

// triggeredSQL asks for the tables of the database that have triggers; none on MySQL.
// Other engines than InnoDB have keys that can be disabled.
const triggeredSQL = "SELECT DISTINCT t.TABLE_NAME FROM information_schema.TRIGGERS g " +
	"JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = g.EVENT_OBJECT_SCHEMA AND t.TABLE_NAME = g.EVENT_OBJECT_TABLE " +
	"WHERE g.EVENT_OBJECT_SCHEMA = DATABASE() AND t.ENGINE = 'InnoDB' AND VERSION() LIKE '%MariaDB%'"
