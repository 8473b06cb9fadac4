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
	// minPause is the average length of the first pause between two attempts. The average
	// doubles with each further pause, up to maxPause. The length of a pause is random, so
	// that processes that wait for the same row do not meet again.
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond

	// maxMoves is how often a call tries another connection after an error of kind
	// elsewhere. Eight times are enough, because a pool keeps few idle connections to a lost
	// server, and a proxy before a cluster leads new connections to each node in turn.
	maxMoves = 8

	// grace is how long a driver may take to return after its context has ended.
	grace = 100 * time.Millisecond
)

// attempt calls f with a connection, and returns the error of f. If the database was too
// busy, or if the connection had died before anything was sent, attempt calls f again until
// ctx ends. After an error of kind elsewhere, which another server may not return, it calls
// f up to maxMoves more times. If ctx ends first, it returns the error of lateError.
//
// attempt takes the connection from the pool before it sends a statement. Otherwise
// database/sql would repeat a statement without being told to, and would not report whether
// the time was spent waiting for a connection or for an answer.
func (s *store) attempt(ctx context.Context, f func(*sql.Conn) error) error {
	began := time.Now()
	for pause, moves := minPause, 0; ; pause = min(2*pause, maxPause) {
		err := s.attemptOnce(ctx, began, f)
		if err == nil || ctx.Err() == nil && !s.worthRetrying(err, &moves) {
			return err
		}
		// Another attempt is worthwhile, or ctx has ended. At the end of ctx, the error is
		// that of the whole call, not of its last attempt.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return s.lateError(ctx, began, err)
		}
	}
}

// attemptOnce takes a connection from the pool, inspects whether the store may write on the
// connection, and then calls f with the connection. If the store has a pin, attemptOnce
// calls f with the connection of the pin, which [store.Connect] has inspected. began is when
// attempt was called, for the text of an error about a long wait.
func (s *store) attemptOnce(ctx context.Context, began time.Time, f func(*sql.Conn) error) error {
	if s.pin != nil {
		return s.pin.use(ctx, func(conn *sql.Conn) error { return s.discardIfElsewhere(ctx, conn, f(conn)) })
	}
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return s.noConnectionError(ctx, began, err)
	}
	defer func() { _ = conn.Close() }()
	if err = s.inspect(ctx, conn, statementTimeout); err == nil {
		err = f(conn)
	}
	return s.discardIfElsewhere(ctx, conn, err)
}

// discardIfElsewhere returns err. If err is of kind elsewhere, for example because the
// server has become a standby, it logs err and closes the connection, because the pool
// would otherwise return the connection again and again.
func (s *store) discardIfElsewhere(ctx context.Context, conn *sql.Conn, err error) error {
	if err != nil && s.classify(err) == elsewhere {
		s.warnOnce(ctx, err)
		discard(conn)
	}
	return err
}

// worthRetrying reports whether attempt is to try again after err. It returns true after
// every conflict. An error of kind elsewhere needs another connection, so worthRetrying
// counts it in moves, and returns true for the first maxMoves of these errors. It returns
// false for them if the store has a pin, because such a store has only one connection. The
// caller of that store must connect again.
func (s *store) worthRetrying(err error, moves *int) bool {
	switch s.classify(err) {
	case conflict:
		return true
	case elsewhere:
		*moves++
		return s.pin == nil && *moves <= maxMoves
	}
	return false
}

// classify returns the meaning of err, the error of a statement. It never returns denied. If
// the user lacks a right, it returns the dialect's deniedAtFirst until the store has found
// the table, and elsewhere afterwards.
//
// A conflict means that the whole statement was rolled back. A connection that died before
// the statement was sent counts as a conflict too, because the next attempt gets another
// connection. It does not count as a conflict if the store has a pin, because the pin always
// returns the dead connection.
func (s *store) classify(err error) errorKind {
	if errors.Is(err, driver.ErrBadConn) && s.pin == nil { // by the driver's contract, nothing was sent
		return conflict
	}
	if errors.Is(err, errStandby) || errors.Is(err, errDirty) {
		return elsewhere
	}
	switch kind := s.dialect().classify(err); {
	case kind != denied:
		return kind
	case s.ready.Load() == nil: // no session has had the right; on MySQL the table may be absent
		return s.dialect().deniedAtFirst
	}
	return elsewhere // an earlier session had the right, so another session may have it
}

// noConnectionError returns err, the error of a call that got no usable connection. If ctx
// has ended while callers use all connections that the pool may open, it returns another
// error, which names this reason and the time since began, when the call began.
func (s *store) noConnectionError(ctx context.Context, began time.Time, err error) error {
	if ctx.Err() == nil || !s.allInUse() {
		return err
	}
	return &waitError{fmt.Sprintf("waited %v for a connection, and all %d of the pool are in use, "+
		"perhaps by a transaction that waits for this call: end it first, or raise SetMaxOpenConns",
		time.Since(began).Round(time.Millisecond), s.pool.Stats().MaxOpenConnections), context.Cause(ctx)}
}

// lateError returns the error of a call that began at the time began, and whose ctx has
// ended. err is the error of the last attempt, or nil. If err is a waitError, lateError
// returns err itself, which names the reason for the wait already. The text of any other
// returned error has the likely reason, and the statement that was not answered, if err
// names one.
func (s *store) lateError(ctx context.Context, began time.Time, err error) error {
	if wait := (*waitError)(nil); errors.As(err, &wait) {
		return err
	}
	text := fmt.Sprintf("no answer after %v, perhaps because %s",
		time.Since(began).Round(time.Millisecond), s.dialect().silence)
	if slow := (*slowError)(nil); errors.As(err, &slow) {
		text += fmt.Sprintf(", the last %v of it to %s", slow.after.Round(time.Millisecond), slow.brief())
	} else if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) { // says more than that ctx has ended
		text += " (" + err.Error() + ")"
	}
	return &waitError{text, context.Cause(ctx)}
}

// endWithContext calls f and returns its result. If f has not returned 100 ms (grace) after
// the end of ctx, endWithContext returns an error without waiting for f. For example,
// SQLite's drivers ignore ctx while they wait for the lock until the busy timeout. Within
// grace, f can return an error that says more than the error of endWithContext.
// endWithContext adds a hint to errors that a pooler such as PgBouncer causes.
func endWithContext[T any](ctx context.Context, s *store, f func() (T, error)) (T, error) {
	began := time.Now()
	// graceCtx ends 100 ms after ctx. It is not a child of ctx, because it would then end
	// at the same time as ctx.
	graceCtx, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { giveUp(s.lateError(ctx, began, nil)) }) // f has not returned an error yet
	})()
	value, err := stores.Await(graceCtx, f)
	if err != nil {
		err = fmt.Errorf("sqllease: %w%s", err, poolerHint(err))
	}
	return value, err
}
