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

// runPolitely repeats a statement for at least politeTime, with pauses of at least
// politePause. In each attempt MariaDB does not wait for the table at all, and MySQL
// waits for politeWait.
const (
	politeTime  = 3 * time.Second
	politePause = 3 * time.Millisecond
	politeWait  = 10 * time.Millisecond
)

// withoutWaiting is a prefix that makes MariaDB fail at once if a lock is not free. MySQL
// treats it as a comment, because it has no such statement.
const withoutWaiting = "/*M! SET STATEMENT lock_wait_timeout = 0, innodb_lock_wait_timeout = 0 FOR */ "

// lockFree matches statements that need no exclusive access to a table.
var lockFree = regexp.MustCompile("^(SET|DO|PREPARE|DEALLOCATE|UNLOCK) ")

// A waiter runs statements that need exclusive access to a table. While such a statement
// waits, other sessions wait behind it, and the timeouts of the servers are whole
// seconds.
type waiter struct {
	conn     *sql.Conn
	settings engine.Settings
	id       int64 // ID of the connection on MySQL; 0 on MariaDB
}

// newWaiter returns a waiter for conn. Only MySQL runs the comment in the query, so the
// ID is 0 on MariaDB.
func newWaiter(ctx context.Context, conn *sql.Conn, s engine.Settings) (*waiter, error) {
	w := &waiter{conn: conn, settings: s}
	return w, conn.QueryRowContext(ctx, "SELECT 0 /*!80000 + CONNECTION_ID() */").Scan(&w.id)
}

// runPolitely runs a statement that needs exclusive access. First it repeats attempts
// that do not wait, or only for 10 ms. They fail if there is always a transaction that
// uses the table. Then the statement waits for the lock timeout. Usually the wait takes
// no longer than the transactions that use the table. It takes longer if one of them
// waits for a row of a transaction that waits behind the statement.
func (w *waiter) runPolitely(ctx context.Context, statement string) error {
	if lockFree.MatchString(statement) {
		_, err := w.conn.ExecContext(ctx, statement)
		return err
	}
	for begun := time.Now(); time.Since(begun) < max(w.settings.LockTimeout, politeTime); {
		tried := time.Now()
		err := w.runWithin(ctx, politeWait, withoutWaiting+statement)
		if err == nil || !lockTimeout(err) {
			return err
		}
		time.Sleep(politePause + time.Since(tried))
	}
	return w.runWithin(ctx, w.settings.LockTimeout, statement)
}

// runWithin runs a statement that waits for a lock for at most wait. The shortest timeout
// of MySQL is a second, so another connection kills a statement that waits longer. On
// MariaDB, the statement itself or the session limits the wait.
func (w *waiter) runWithin(ctx context.Context, wait time.Duration, statement string) error {
	if w.id == 0 || w.settings.Pool == nil {
		_, err := w.conn.ExecContext(ctx, statement)
		return err
	}
	waiting, stopWaiting := context.WithCancel(ctx) // ends with the statement
	killed := make(chan bool, 1)
	go func() { killed <- w.kill(waiting, wait) }()
	_, err := w.conn.ExecContext(ctx, statement)
	stopWaiting()
	if !<-killed {
		return err
	}
	_, _ = w.conn.ExecContext(ctx, "DO 0") // if the statement ended first, the kill ends this statement instead
	if err != nil && interrupted.MatchString(err.Error()) {
		return waitError{wait, err}
	}
	return err
}

// waitingSQL returns whether the statement waits for a lock, so that other sessions may
// wait behind it. It uses PROCESSLIST, because that also exists without the performance
// schema.
const waitingSQL = "SELECT STATE LIKE 'Waiting for %%lock' FROM information_schema.PROCESSLIST WHERE ID = %d"

// kill kills the statement if it still waits for a lock after wait, and then after each
// further wait. It reports whether it may have killed the statement. It returns false
// when ctx ends, which is the end of the statement. If kill gets no connection, the
// server ends the wait after a second.
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

// killBy kills the statement over another connection if it waits for a lock, and reports
// whether it may have killed it. It ignores the end of ctx, because a KILL that is late
// would end the next statement. If the KILL returns an error, it may have been carried
// out, so killBy returns true.
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

// interrupted matches the error of a statement that was killed.
var interrupted = regexp.MustCompile(`Error 1317\b`)

// A waitError is the error of a statement that was killed because it waited too long.
type waitError struct {
	wait time.Duration
	err  error
}

func (e waitError) Error() string { return fmt.Sprintf("no lock in %v: %v", e.wait, e.err) }

// lockTimeout reports whether err means that a lock was not available in time.
func lockTimeout(err error) bool {
	return (mysql.Engine{}).LockTimeout(err) || errors.As(err, &waitError{})
}
