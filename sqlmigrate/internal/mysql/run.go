package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

const (
	// sqlMode keeps values from being cut when they are changed, and a key of
	// 0 from becoming 1 when AUTO_INCREMENT comes back. What it leaves out
	// would refuse columns that are already there, or quote names another way.
	sqlMode = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO"

	// inspectWait is for a run that has lost its client: the server ends
	// its statement first.
	inspectWait = 10 * time.Second

	// expiry is for how long MySQL answers with where a counter once stood: a
	// day, unless it is 0. MariaDB, which has none, takes /*!80000 for a comment.
	expiry = "@@SESSION.information_schema_stats_expiry"

	restoreTimeout = 5 * time.Second
)

// Run implements [engine.Engine].
func (Engine) Run(ctx context.Context, conn *sql.Conn, statements []engine.Statement, s engine.Settings, done func(engine.Statement)) (err error) {
	session, err := OpenSession(ctx, conn, s.LockTimeout)
	if err != nil {
		return err
	}
	defer func() {
		if session.Restore() != nil {
			err = session.end(ctx, conn, s.Pool, err)
		}
	}()
	if err := session.lockTimeout(s.LockTimeout); err != nil {
		return err
	}
	for _, statement := range statements {
		if err := carryOut(ctx, conn, statement); err != nil {
			return err
		}
		done(statement)
	}
	return nil
}

func carryOut(ctx context.Context, conn *sql.Conn, s engine.Statement) error {
	if s.Unless != "" {
		var over bool
		if err := conn.QueryRowContext(ctx, s.Unless).Scan(&over); err != nil {
			return fmt.Errorf("ask whether that has been done: %w", err)
		}
		if over {
			return nil
		}
	}
	if _, err := conn.ExecContext(ctx, s.SQL); err != nil {
		return explain(ctx, conn, s, err)
	}
	return nil
}

// A Session has settings of the package's own, and the name of the
// database's runs, so that there is one at a time.
type Session struct {
	ctx  context.Context
	conn *sql.Conn

	id               int64
	mode             string
	checks           int
	lockWait, innodb int64
	expiry           int64
	autocommit       int
	name             string
}

// OpenSession waits for another run to end. The caller restores the connection by
// [Session.Restore].
func OpenSession(ctx context.Context, conn *sql.Conn, wait time.Duration) (*Session, error) {
	s := &Session{ctx: ctx, conn: conn}
	var database string
	err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), @@SESSION.sql_mode, @@SESSION.foreign_key_checks, @@SESSION.autocommit, "+
		"@@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout, 0 /*!80000 + "+expiry+" */, COALESCE(DATABASE(), '')").
		Scan(&s.id, &s.mode, &s.checks, &s.autocommit, &s.lockWait, &s.innodb, &s.expiry, &database)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: read the settings of the connection: %w", err)
	}
	sum := sha256.Sum256([]byte(database))
	s.name = "sqlmigrate " + hex.EncodeToString(sum[:])[:40]
	if err := s.claim(wait); err != nil {
		return nil, err
	}
	if err := s.set(sqlMode, 1, 1, 0); err != nil {
		return nil, s.close(err)
	}
	return s, nil
}

// claim waits for another run to end.
func (s *Session) claim(wait time.Duration) error {
	seconds := wholeSeconds(wait)
	if seconds == 0 {
		seconds = s.lockWait
	}
	var got sql.NullBool
	if err := s.conn.QueryRowContext(s.ctx, fmt.Sprintf("SELECT GET_LOCK('%s', %d)", s.name, seconds)).Scan(&got); err != nil {
		return fmt.Errorf("sqlmigrate: wait for another run to end: %w", err)
	}
	if !got.Bool {
		return errors.New("sqlmigrate: another run is under way in this database, perhaps the last statement of one that has lost its connection: try again when it has ended")
	}
	return nil
}

func (s *Session) set(mode string, checks, autocommit int, seconds int64) error {
	_, err := s.conn.ExecContext(s.ctx, fmt.Sprintf("SET SESSION sql_mode = %s, SESSION foreign_key_checks = %d, SESSION autocommit = %d /*!80000, "+expiry+" = %d */",
		literal(mode), checks, autocommit, seconds))
	return err
}

// lockTimeout limits the wait for locks on tables, and on rows.
func (s *Session) lockTimeout(d time.Duration) error {
	seconds := wholeSeconds(d)
	if seconds == 0 {
		return nil
	}
	return s.SetTimeouts(seconds, seconds)
}

// SetTimeouts limits the wait for tables and for rows, in seconds; at zero it
// does not wait for a table at all.
func (s *Session) SetTimeouts(lockWait, innodb int64) error {
	_, err := s.conn.ExecContext(s.ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d", lockWait, innodb))
	return err
}

// wholeSeconds rounds up: the servers count in seconds.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// close puts the connection back as it was, or ends it if that cannot be done.
func (s *Session) close(err error) error {
	if s.Restore() != nil {
		engine.Discard(s.conn)
	}
	return err
}

// Restore puts the connection back as it was, and lets others run.
func (s *Session) Restore() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), restoreTimeout)
	defer cancel()
	s.ctx = ctx
	return errors.Join(s.unlock(), s.set(s.mode, s.checks, s.autocommit, s.expiry), s.SetTimeouts(s.lockWait, s.innodb), s.release())
}

// unlock is for a run that has stopped between two statements.
func (s *Session) unlock() error {
	_, err := s.conn.ExecContext(s.ctx, "UNLOCK TABLES")
	return err
}

func (s *Session) release() error {
	_, err := s.conn.ExecContext(s.ctx, "DO RELEASE_LOCK('"+s.name+"')")
	return err
}
