package myonline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
)

// A statement is tried for politeTime at least, and rests for politePause in between.
// Each time, MariaDB does not wait for a table at all, MySQL for politeWait.
const (
	politeTime  = 3 * time.Second
	politePause = 3 * time.Millisecond
	politeWait  = 10 * time.Millisecond
)

// withoutWaiting is a comment to MySQL, which cannot do that.
const withoutWaiting = "/*M! SET STATEMENT lock_wait_timeout = 0, innodb_lock_wait_timeout = 0 FOR */ "

var noLock = regexp.MustCompile("^(SET|DO|PREPARE|DEALLOCATE|UNLOCK) ")

// A waiter carries out statements that want a table for themselves. While one waits for
// it, everybody else waits behind it, and the servers count in seconds.
type waiter struct {
	conn     *sql.Conn
	settings engine.Settings
	id       int64 // of the connection, on MySQL
}

// newWaiter asks for the connection's number where MySQL takes the comment for code.
func newWaiter(ctx context.Context, conn *sql.Conn, s engine.Settings) (*waiter, error) {
	w := &waiter{conn: conn, settings: s}
	return w, conn.QueryRowContext(ctx, "SELECT 0 /*!80000 + CONNECTION_ID() */").Scan(&w.id)
}

// gently tries without waiting at first. Where transactions follow each other without a
// gap, that fails, and waiting takes no longer than they do, unless one of them waits for
// a row of another that is behind.
func (w *waiter) gently(ctx context.Context, statement string) error {
	if noLock.MatchString(statement) {
		_, err := w.conn.ExecContext(ctx, statement)
		return err
	}
	for begun := time.Now(); time.Since(begun) < max(w.settings.LockTimeout, politeTime); {
		tried := time.Now()
		err := w.within(ctx, politeWait, withoutWaiting+statement)
		if err == nil || !lockTimeout(err) {
			return err
		}
		time.Sleep(politePause + time.Since(tried))
	}
	return w.within(ctx, w.settings.LockTimeout, statement)
}

// within has another connection end the wait on MySQL, whose own limit is a second.
func (w *waiter) within(ctx context.Context, wait time.Duration, statement string) error {
	if w.id == 0 || w.settings.Pool == nil {
		_, err := w.conn.ExecContext(ctx, statement)
		return err
	}
	waiting, over := context.WithCancel(ctx)
	killed := make(chan bool, 1)
	go func() { killed <- w.kill(waiting, wait) }()
	_, err := w.conn.ExecContext(ctx, statement)
	over()
	if !<-killed {
		return err
	}
	_, _ = w.conn.ExecContext(ctx, "DO 0") // is ended if the statement was faster
	if err != nil && interrupted.MatchString(err.Error()) {
		return waitError{wait, err}
	}
	return err
}

// waitingSQL is true while others may wait behind. A statement that works is not ended.
// The table is there without the performance schema, too.
const waitingSQL = "SELECT STATE LIKE 'Waiting for %%lock' FROM information_schema.PROCESSLIST WHERE ID = %d"

// kill reports whether it may have ended the statement, which waited for longer. Where it
// cannot, the server does so, after a second.
func (w *waiter) kill(ctx context.Context, wait time.Duration) bool {
	for engine.Sleep(ctx, wait) == nil {
		other, err := w.settings.Pool.Conn(ctx)
		if err != nil {
			return false
		}
		killed := w.killBy(ctx, other)
		_ = other.Close()
		if killed {
			return true
		}
	}
	return false
}

// killBy is not stopped: a KILL that is late would end what comes next. One without an
// answer may have been carried out.
func (w *waiter) killBy(ctx context.Context, other *sql.Conn) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.EndTimeout)
	defer cancel()
	var waiting sql.NullBool
	err := other.QueryRowContext(ctx, fmt.Sprintf(waitingSQL, w.id)).Scan(&waiting)
	if err != nil || !waiting.Bool {
		return false
	}
	_, _ = other.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", w.id))
	return true
}

var interrupted = regexp.MustCompile(`Error 1317\b`)

// A waitError is the end of a statement by kill.
type waitError struct {
	wait time.Duration
	err  error
}

func (e waitError) Error() string { return fmt.Sprintf("no lock in %v: %v", e.wait, e.err) }

func lockTimeout(err error) bool {
	return (mysql.Engine{}).LockTimeout(err) || errors.As(err, &waitError{})
}
