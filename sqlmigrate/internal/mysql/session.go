package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

const (
	// sqlMode keeps values from being cut when they are changed, and a key of
	// 0 from becoming 1 when AUTO_INCREMENT comes back. What it leaves out
	// would refuse columns that exist already, or quote names another way.
	sqlMode = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO"

	// inspectWait is for a run that has lost its client: the server ends
	// its statement first.
	inspectWait = 10 * time.Second

	// expiry is for how long MySQL answers with where a counter once stood: a
	// day, unless it is 0. MariaDB, which has none, takes /*!80000 for a comment.
	expiry = "@@SESSION.information_schema_stats_expiry"

	restoreTimeout = 5 * time.Second
)

// A Session has settings of the package's own, and the name of the
// database's runs, so that there is one at a time.
type Session struct {
	conn *sql.Conn

	id       int64
	lockWait int64
	restore  string // the statement that sets the connection back
	name     string
	killed   bool
}

// settingsSQL asks for the connection, to KILL it if it is lost, for the database, whose
// runs have a name, and for the statement that restores what a session changes.
const settingsSQL = "SELECT CONNECTION_ID(), COALESCE(DATABASE(), ''), @@SESSION.lock_wait_timeout, " +
	"CONCAT('SET SESSION sql_mode = ', QUOTE(@@SESSION.sql_mode), ', SESSION foreign_key_checks = ', @@SESSION.foreign_key_checks, " +
	"', SESSION autocommit = ', @@SESSION.autocommit, ', SESSION lock_wait_timeout = ', @@SESSION.lock_wait_timeout, " +
	"', SESSION innodb_lock_wait_timeout = ', @@SESSION.innodb_lock_wait_timeout /*!80000, ', " + expiry + " = ', " + expiry + " */)"

// OpenSession waits for another run to end. The caller restores the connection by
// [Session.Restore].
func OpenSession(ctx context.Context, conn *sql.Conn, wait time.Duration) (*Session, error) {
	s := &Session{conn: conn}
	var database string
	if err := conn.QueryRowContext(ctx, settingsSQL).Scan(&s.id, &database, &s.lockWait, &s.restore); err != nil {
		return nil, fmt.Errorf("sqlmigrate: read the settings of the connection: %w", err)
	}
	sum := sha256.Sum256([]byte(database))
	s.name = "sqlmigrate " + hex.EncodeToString(sum[:])[:40]
	if err := s.claim(ctx, wait); err != nil {
		return nil, err
	}
	if err := s.exec(ctx, "SET SESSION sql_mode = '"+sqlMode+"', SESSION foreign_key_checks = 1, SESSION autocommit = 1 /*!80000, "+expiry+" = 0 */"); err != nil {
		return nil, s.close(ctx, err)
	}
	return s, nil
}

// claim waits for another run to end.
func (s *Session) claim(ctx context.Context, wait time.Duration) error {
	seconds := wholeSeconds(wait)
	if seconds == 0 {
		seconds = s.lockWait
	}
	var got sql.NullBool
	if err := s.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT GET_LOCK('%s', %d)", s.name, seconds)).Scan(&got); err != nil {
		return fmt.Errorf("sqlmigrate: wait for another run to end: %w", err)
	}
	if !got.Bool {
		return errors.New("sqlmigrate: another run is under way in this database, perhaps the last statement of one that has lost its connection: try again when it has ended")
	}
	return nil
}

func (s *Session) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// SetTimeouts limits the wait for tables and for rows, in seconds; at zero it
// does not wait for a table at all.
func (s *Session) SetTimeouts(ctx context.Context, lockWait, innodb int64) error {
	return s.exec(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d", lockWait, innodb))
}

// wholeSeconds rounds up: the servers count in seconds.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// close restores the connection, or ends it if that cannot be done.
func (s *Session) close(ctx context.Context, err error) error {
	if s.Restore(ctx) != nil {
		engine.Discard(s.conn)
	}
	return err
}

// Restore restores the settings of the connection, also if ctx is over, and lets others
// run. It unlocks tables for a run that has stopped between two statements.
func (s *Session) Restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	return errors.Join(s.exec(ctx, "UNLOCK TABLES"), s.exec(ctx, s.restore), s.exec(ctx, "DO RELEASE_LOCK('"+s.name+"')"))
}

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
