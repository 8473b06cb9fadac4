package sqllease

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gormflake/gormflake/lease/internal/stores"
)

const (
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond

	// maxMoves is how often a call goes to another server. A pool keeps few idle
	// connections to a lost one, and what stands before a cluster leads new ones
	// to each node in turn.
	maxMoves = 8

	// grace is how long a driver may take to notice that its context has
	// ended.
	grace = 100 * time.Millisecond
)

// attempt calls f with a connection, and again while the database was too busy
// or the connection had died before anything was sent, until ctx ends, and up to
// maxMoves times after an error of kind elsewhere. It takes the connection itself:
// database/sql would repeat a statement unasked, and could not say whether it
// waited for a connection or for an answer.
func (s *store) attempt(ctx context.Context, f func(*sql.Conn) error) error {
	began := time.Now()
	for pause, moves := minPause, 0; ; pause = min(2*pause, maxPause) {
		err := s.once(ctx, began, f)
		if err == nil || ctx.Err() == nil && !s.worthAnother(err, &moves) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return s.late(ctx, began, err)
		}
	}
}

func (s *store) once(ctx context.Context, began time.Time, f func(*sql.Conn) error) error {
	if s.pin != nil {
		return s.pin.use(ctx, func(conn *sql.Conn) error { return s.leaveLost(ctx, conn, f(conn)) })
	}
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return s.noConnection(ctx, began, err)
	}
	defer func() { _ = conn.Close() }()
	if err = s.inspect(ctx, conn, statementTimeout); err == nil {
		err = f(conn)
	}
	return s.leaveLost(ctx, conn, err)
}

// leaveLost closes the connection after an error of kind elsewhere: the pool would
// hand it out again and again.
func (s *store) leaveLost(ctx context.Context, conn *sql.Conn, err error) error {
	if err != nil && s.classify(err) == elsewhere {
		s.warnOnce(ctx, err)
		discard(conn)
	}
	return err
}

// worthAnother reports whether f may be called once more. A store that has one
// connection cannot go elsewhere: that is up to who connects it again.
func (s *store) worthAnother(err error, moves *int) bool {
	switch s.classify(err) {
	case conflict:
		return true
	case elsewhere:
		*moves++
		return s.pin == nil && *moves <= maxMoves
	}
	return false
}

// classify returns what the error of a statement means. Whatever is a conflict was
// rolled back: a statement that is its own transaction is applied as a whole, or
// not at all.
func (s *store) classify(err error) kind {
	if errors.Is(err, driver.ErrBadConn) && s.pin == nil { // nothing was sent, by the driver's contract
		return conflict
	}
	if errors.Is(err, errStandby) || errors.Is(err, errDirty) {
		return elsewhere
	}
	switch is := s.dialect().classify(err); {
	case is != denied:
		return is
	case s.ready.Load() == nil:
		return s.dialect().denied
	}
	return elsewhere // it may in other sessions
}

// A waitError is what is left of a call whose context has ended.
type waitError struct {
	text  string
	cause error
}

func (e *waitError) Error() string { return e.text + ": " + e.cause.Error() }
func (e *waitError) Unwrap() error { return e.cause }

// noConnection is the error of an attempt that got no connection, which names the
// program's own use of the pool where that is the cause.
func (s *store) noConnection(ctx context.Context, began time.Time, err error) error {
	if ctx.Err() == nil || !s.allInUse() {
		return err
	}
	return &waitError{fmt.Sprintf("waited %v for a connection, and all %d of the pool are in use, "+
		"perhaps by a transaction that waits for this call: end it first, or raise SetMaxOpenConns",
		time.Since(began).Round(time.Millisecond), s.pool.Stats().MaxOpenConnections), context.Cause(ctx)}
}

// late is the error after ctx has ended; err is what the last attempt ran into.
func (s *store) late(ctx context.Context, began time.Time, err error) error {
	if wait := (*waitError)(nil); errors.As(err, &wait) {
		return err
	}
	text := fmt.Sprintf("no answer after %v, perhaps because %s",
		time.Since(began).Round(time.Millisecond), s.dialect().silence)
	if slow := (*slowError)(nil); errors.As(err, &slow) {
		text += fmt.Sprintf(", the last %v of it to %s", slow.after.Round(time.Millisecond), slow.brief())
	} else if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		text += " (" + err.Error() + ")"
	}
	return &waitError{text, context.Cause(ctx)}
}

// bounded answers soon after ctx has ended, also where f does not: SQLite's
// drivers wait for its lock as long as the busy timeout lasts.
func bounded[T any](ctx context.Context, s *store, f func() (T, error)) (T, error) {
	began := time.Now()
	patient, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { giveUp(s.late(ctx, began, nil)) })
	})()
	value, err := stores.Await(patient, f)
	if err != nil {
		err = fmt.Errorf("sqllease: %w%s", err, hint(err))
	}
	return value, err
}
