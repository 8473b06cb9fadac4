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

// runPolitely first makes short attempts at a statement, for at least politeTime, with pauses of
// at least politePause. In each attempt MariaDB does not wait for the table at all, and MySQL
// waits for at most politeWait.
const (
	politeTime  = 3 * time.Second
	politePause = 3 * time.Millisecond
	politeWait  = 10 * time.Millisecond
)

// withoutWaiting is a prefix that makes a statement fail at once on MariaDB if a lock is not
// free. MySQL has no SET STATEMENT, and treats the text in /*M! … */ as a comment.
const withoutWaiting = "/*M! SET STATEMENT lock_wait_timeout = 0, innodb_lock_wait_timeout = 0 FOR */ "

// lockFree matches the statements of a short step that need no exclusive access to a table. It
// does not match EXECUTE, which runs an ALTER TABLE in the step of counterStep.
var lockFree = regexp.MustCompile("^(SET|DO|PREPARE|DEALLOCATE|UNLOCK) ")

// A waiter runs statements that need exclusive access to a table, and keeps their waits short.
// While such a statement waits, other sessions wait behind it, and the timeouts of the servers
// are whole seconds, which is too long.
type waiter struct {
	conn     *sql.Conn
	settings engine.Settings
	id       int64 // the ID by which MySQL knows conn, for a KILL; 0 on MariaDB, where statements are not killed
}

// newWaiter returns a waiter for conn. Only MySQL runs the text in the special comment of the
// query, so the ID is 0 on MariaDB.
func newWaiter(ctx context.Context, conn *sql.Conn, s engine.Settings) (*waiter, error) {
	w := &waiter{conn: conn, settings: s}
	return w, conn.QueryRowContext(ctx, "SELECT 0 /*!80000 + CONNECTION_ID() */").Scan(&w.id)
}

// runPolitely runs a statement that may need exclusive access to a table. For three
// seconds, or for the lock timeout if that is longer, it makes attempts that do not wait
// for the table, or only for 10 ms. All attempts fail if there is always a transaction that
// uses the table. Then runPolitely makes a last attempt, which waits for up to the lock
// timeout. Meanwhile, new transactions wait behind the statement, so the last attempt
// usually gets the table as soon as the present transactions have ended. But a present
// transaction may wait for a row that a transaction behind the statement has locked. In
// this case the last attempt waits until the timeout.
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
		time.Sleep(politePause + time.Since(tried)) // longer than the attempt, during which programs may have waited
	}
	return w.runWithin(ctx, w.settings.LockTimeout, statement)
}

// runWithin runs a statement, and limits how long the statement waits for a lock. If the
// statement would have to wait longer, runWithin returns an error for which lockTimeout returns
// true. On MySQL, whose shortest timeout is a second, another connection kills the statement
// after the duration wait. On MariaDB, and if there is no pool for another connection, runWithin
// ignores wait. Then the session's timeout of a second limits the wait, or on MariaDB the
// prefix withoutWaiting, if the statement has this prefix.
func (w *waiter) runWithin(ctx context.Context, wait time.Duration, statement string) error {
	if w.id == 0 || w.settings.Pool == nil {
		_, err := w.conn.ExecContext(ctx, statement)
		return err
	}
	running, stopKiller := context.WithCancel(ctx) // ends with the statement
	killed := make(chan bool, 1)
	go func() { killed <- w.kill(running, wait) }()
	_, err := w.conn.ExecContext(ctx, statement)
	stopKiller()
	if !<-killed {
		return err
	}
	// If the statement ended before the KILL, the KILL ends the next statement of the connection,
	// which should be a statement that does nothing.
	_, _ = w.conn.ExecContext(ctx, "DO 0")
	if err != nil && interrupted.MatchString(err.Error()) {
		return waitError{wait, err}
	}
	return err
}

// waitingSQL returns whether the statement of a connection waits for a lock, so that other
// sessions may wait behind it. Its argument is the ID of the connection. The state is then, for
// example, "Waiting for table metadata lock". The query reads PROCESSLIST, because that also
// exists without the performance schema.
const waitingSQL = "SELECT STATE LIKE 'Waiting for %%lock' FROM information_schema.PROCESSLIST WHERE ID = %d"

// kill checks whether the statement on w.conn waits for a lock, first after the duration wait,
// and then again after each further wait, and kills the statement if it does. It reports
// whether it may have killed the statement. ctx ends with the statement, and kill then returns
// false. It also returns false if it gets no connection for the KILL. Then the timeout of the
// session ends the statement's wait after a second.
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

// killBy kills the statement on w.conn over another connection if the statement waits for a
// lock, and reports whether it may have killed the statement. It returns true even if the KILL
// returns an error, because the server may have carried it out. It ignores the end of ctx, so
// that the KILL has ended when killBy returns. A KILL that came later would end the next
// statement.
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

// interrupted matches MySQL's error for a statement that was killed by KILL QUERY.
var interrupted = regexp.MustCompile(`Error 1317\b`)

// A waitError is the error of a statement that was killed because it waited too long.
type waitError struct {
	wait time.Duration
	err  error
}

func (e waitError) Error() string { return fmt.Sprintf("no lock in %v: %v", e.wait, e.err) }

// lockTimeout reports whether err means that a lock was not available in time, because a server
// timeout ended the wait, runWithin killed the statement, or there was a deadlock.
func lockTimeout(err error) bool {
	return (mysql.Engine{}).LockTimeout(err) || errors.As(err, &waitError{})
}
