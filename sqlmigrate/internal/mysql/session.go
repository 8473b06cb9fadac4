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
	// sqlMode is the SQL mode of a session. STRICT_ALL_TABLES makes the server refuse
	// values that it would otherwise cut. Without NO_AUTO_VALUE_ON_ZERO, a statement that
	// adds AUTO_INCREMENT would give a row with key 0 a new key. Other modes are off, because
	// with them the server would refuse columns that exist already, or read quotes in another
	// way.
	sqlMode = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO"

	// inspectWait is how long an inspection waits if another session holds the named lock.
	// A run that has lost its client holds the lock until its statement has ended, because
	// the server runs the statement to its end.
	inspectWait = 10 * time.Second

	// expiry is the setting for how long MySQL returns a cached value of an AUTO_INCREMENT
	// counter. Sessions set it to 0, because by default such a value may be a day old.
	// MariaDB does not have the setting. Therefore statements contain it in a comment
	// /*!80000 … */, whose content only MySQL runs.
	expiry = "@@SESSION.information_schema_stats_expiry"

	// LongestText is the length in bytes up to which GROUP_CONCAT does not cut its result in
	// a session. If it cuts a result, the server warns. Other functions return NULL, with a
	// warning, if their result is longer than a packet of the server.
	LongestText = 16 << 20

	// allWarnings is the largest value of the setting max_error_count, the number of warnings
	// of a statement that the server keeps. With MariaDB's default of 64, a later warning
	// would be lost, for example about a value that was cut. MySQL keeps 1,024, and changes
	// this number only for an account with a privilege.
	allWarnings = 65535

	// restoreTimeout limits the time to restore the settings, or to drop the copies of a
	// trial.
	restoreTimeout = 5 * time.Second
)

// A Session is a connection with the settings of this package. It holds a named lock of
// the database, so that only one run or inspection takes place at a time.
type Session struct {
	conn *sql.Conn

	id       int64  // the ID of the connection
	lockWait int64  // the lock_wait_timeout of the connection before the session, in seconds
	restore  string // the statement that restores the settings
	lockName string // the name of the lock
	killed   bool   // whether End has sent a KILL to the server
}

// settingsSQL returns the ID of the connection for a KILL, the database for the name of the
// lock, lock_wait_timeout, and a statement. The statement restores the present values of
// the settings that a session changes. Only MariaDB runs the text in /*M! … */, and only
// MySQL the text in /*!80000 … */.
const settingsSQL = "SELECT CONNECTION_ID(), COALESCE(DATABASE(), ''), @@SESSION.lock_wait_timeout, " +
	"CONCAT('SET SESSION sql_mode = ', QUOTE(@@SESSION.sql_mode), ', SESSION foreign_key_checks = ', @@SESSION.foreign_key_checks, " +
	"', SESSION autocommit = ', @@SESSION.autocommit, ', SESSION lock_wait_timeout = ', @@SESSION.lock_wait_timeout, " +
	"', SESSION innodb_lock_wait_timeout = ', @@SESSION.innodb_lock_wait_timeout, " +
	"', SESSION group_concat_max_len = ', @@SESSION.group_concat_max_len /*M! , ', SESSION max_error_count = ', @@SESSION.max_error_count */ /*!80000, ', " + expiry + " = ', " + expiry + " */)"

// OpenSession acquires the lock of the current database, so that only one run or
// inspection takes place in it, and changes the settings of conn. It waits for the lock
// for at most wait, or for the connection's lock_wait_timeout if wait is 0. The caller
// restores the settings and releases the lock with [Session.Restore].
func OpenSession(ctx context.Context, conn *sql.Conn, wait time.Duration) (*Session, error) {
	s := &Session{conn: conn}
	var database string
	if err := conn.QueryRowContext(ctx, settingsSQL).Scan(&s.id, &database, &s.lockWait, &s.restore); err != nil {
		return nil, fmt.Errorf("sqlmigrate: read the settings of the connection: %w", err)
	}
	// The name of a lock has at most 64 characters. The name of the database can have as
	// many, so the lock's name contains a hash of it.
	sum := sha256.Sum256([]byte(database))
	s.lockName = "sqlmigrate " + hex.EncodeToString(sum[:])[:40]
	if err := s.acquireLock(ctx, wait); err != nil {
		return nil, err
	}
	if err := s.exec(ctx, fmt.Sprintf("SET SESSION sql_mode = '%s', SESSION foreign_key_checks = 1, SESSION autocommit = 1, "+
		"SESSION group_concat_max_len = %d /*M! , SESSION max_error_count = %d */ /*!80000, %s = 0 */", sqlMode, LongestText, allWarnings, expiry)); err != nil {
		return nil, s.close(ctx, err)
	}
	return s, nil
}

// acquireLock acquires the lock of the session. If another run or inspection has the lock
// for longer than wait, or than s.lockWait if wait is 0, it returns an error.
func (s *Session) acquireLock(ctx context.Context, wait time.Duration) error {
	seconds := wholeSeconds(wait)
	if seconds == 0 {
		seconds = s.lockWait
	}
	var acquired sql.NullBool
	if err := s.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT GET_LOCK('%s', %d)", s.lockName, seconds)).Scan(&acquired); err != nil {
		return fmt.Errorf("sqlmigrate: wait for another run to end: %w", err)
	}
	if !acquired.Bool {
		return errors.New("sqlmigrate: another run is under way in this database, perhaps the last statement of one that has lost its connection: try again when it has ended")
	}
	return nil
}

// exec runs a statement on the connection.
func (s *Session) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// SetTimeouts limits, in seconds, how long a statement waits for a table (lockWait) and
// for a row of InnoDB (innodb). If lockWait is zero, a statement does not wait for a table
// at all.
func (s *Session) SetTimeouts(ctx context.Context, lockWait, innodb int64) error {
	return s.exec(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d", lockWait, innodb))
}

// wholeSeconds rounds d up to seconds, because the timeouts of the servers are whole
// seconds.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// close restores the settings of the connection and releases the lock. If that fails, close
// closes the connection, so that no program gets the connection with changed settings. It
// returns err, the error of the work in the session.
func (s *Session) close(ctx context.Context, err error) error {
	if s.Restore(ctx) != nil {
		engine.Discard(s.conn)
	}
	return err
}

// Restore restores the settings of the connection and releases the lock, even if ctx has
// ended. It also unlocks tables, because the run may have stopped between LOCK and
// UNLOCK.
func (s *Session) Restore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	return errors.Join(s.exec(ctx, "UNLOCK TABLES"), s.exec(ctx, s.restore), s.exec(ctx, "DO RELEASE_LOCK('"+s.lockName+"')"))
}

// End implements [engine.Backend]. It kills the session over the connection other, unless
// the session has ended already.
func (s *Session) End(ctx context.Context, other *sql.Conn) error {
	ended, err := s.Ended(ctx, other)
	if ended || err != nil {
		return err
	}
	s.killed = true
	_, err = other.ExecContext(ctx, s.EndSQL())
	if ended, _ := s.Ended(ctx, other); ended { // err may be that there is no such session any more
		return nil
	}
	return err
}

// Ended implements [engine.Backend]. It reports whether the session no longer has the named
// lock. The server releases the named lock after the locks on tables, so the tables are
// free then too. IS_USED_LOCK returns the ID of the connection that has the lock, or NULL
// if it is free.
func (s *Session) Ended(ctx context.Context, other *sql.Conn) (bool, error) {
	var ended bool
	err := other.QueryRowContext(ctx, fmt.Sprintf("SELECT COALESCE(IS_USED_LOCK('%s') <> %d, TRUE)", s.lockName, s.id)).Scan(&ended)
	return ended, err
}

// EndSQL implements [engine.Backend]. It returns the statement that kills the session, for
// example KILL 17.
func (s *Session) EndSQL() string { return fmt.Sprintf("KILL %d", s.id) }

// end kills the session on the server after conn, its connection, was lost. If a session
// of MariaDB is killed while it opens a table, other sessions may no longer be able to
// read the triggers of the table, and their writes fail. Therefore end also makes the
// server read the triggers again. pool provides another connection for both.
//
// end returns err, the error of the run, with advice if the KILL or the reading of
// triggers fails. If err is nil, the run has succeeded, and end returns nil.
func (s *Session) end(ctx context.Context, conn *sql.Conn, pool *sql.DB, err error) error {
	err = engine.EndBackend(ctx, conn, pool, s, err)
	if !s.killed {
		return err
	}
	if reloadErr := readTriggersAgain(ctx, pool); reloadErr != nil && err != nil {
		return fmt.Errorf("%w; if programs get error 1064, “has an error in its body”, run: FLUSH TABLES (%w)", err, reloadErr)
	}
	return err
}

// lockTimedOut matches the error of a lock that was not available in time.
var lockTimedOut = regexp.MustCompile(`Error 1205\b`)

// readTriggersAgain makes MariaDB read the triggers of all tables of the database again. On
// MySQL it does nothing.
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
	return CloseTables(ctx, conn, tables)
}

// CloseTables makes MariaDB close InnoDB tables of the current database, so that the server
// reads their triggers again. CloseTables first tries FLUSH TABLES. If the account may not flush
// tables, it runs ALTER TABLE … ENABLE KEYS for each table, which closes the table and changes
// nothing in InnoDB. Each of these statements waits for a table for at most a second.
func CloseTables(ctx context.Context, conn *sql.Conn, tables []string) error {
	_, err := conn.ExecContext(ctx, "SET STATEMENT lock_wait_timeout = 1 FOR FLUSH TABLES "+mycatalog.Join(tables, ", ", mycatalog.Quote))
	if err == nil || lockTimedOut.MatchString(err.Error()) { // after a timeout, the server closes a table as soon as it is free
		return nil
	}
	var errs []error
	for _, t := range tables { // the account may not flush tables
		if _, err := conn.ExecContext(ctx, "SET STATEMENT lock_wait_timeout = 1 FOR ALTER TABLE "+mycatalog.Quote(t)+" ENABLE KEYS"); err != nil {
			errs = append(errs, fmt.Errorf("close table %s, so that its triggers are read again: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// triggeredSQL returns the InnoDB tables of the current database that have triggers. On
// MySQL it returns no rows. It excludes other engines, because ENABLE KEYS would change
// their tables.
const triggeredSQL = "SELECT DISTINCT t.TABLE_NAME FROM information_schema.TRIGGERS g " +
	"JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = g.EVENT_OBJECT_SCHEMA AND t.TABLE_NAME = g.EVENT_OBJECT_TABLE " +
	"WHERE g.EVENT_OBJECT_SCHEMA = DATABASE() AND t.ENGINE = 'InnoDB' AND VERSION() LIKE '%MariaDB%'"
