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
	// minPause is the average of the first pause between two attempts, and maxPause that of
	// the longest. The average doubles with each pause. The length of a pause is random, so
	// that processes that wait for the same row do not meet again.
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond

	// maxMoves is how often a call tries another connection after an error of kind
	// elsewhere. It is enough because a pool keeps few idle connections to a lost
	// server, and a proxy before a cluster leads new connections to each node in turn.
	maxMoves = 8

	// grace is how long a driver may take to return after its context has ended.
	grace = 100 * time.Millisecond
)

// attempt calls f with a connection. It repeats the call until ctx ends if the database
// was too busy, or if the connection had died before anything was sent. After an error of
// kind elsewhere, which another server may not return, it repeats the call up to maxMoves
// times. attempt takes the connection from the pool before it sends a statement, because
// otherwise database/sql would repeat a statement without being told to, and would not
// report whether the time was spent waiting for a connection or for an answer.
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

// attemptOnce calls f with a connection of the pool, after it has inspected whether the
// store may write on it. A store with a pin uses the connection of the pin, which
// [store.Connect] has inspected. began is when attempt was called, for the text of an error
// about a long wait.
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

// worthRetrying reports whether attempt is to try again after err, which is so after a
// conflict. After an error of kind elsewhere, the next try needs another connection.
// worthRetrying then adds 1 to moves, of which maxMoves are allowed. A store with a pin has
// only one connection, so it does not move. Its caller must connect again.
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

// classify returns the meaning of a statement's error, but never denied, because the
// meaning of a missing right depends on whether the store has found the table before. After
// a conflict the statement is rolled back as a whole, because each statement is its own
// transaction. A dead connection counts as a conflict only if the next attempt gets another
// connection, which a store with a pin does not.
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

// noConnectionError returns the error of a call that got no connection. err is the pool's
// error. If ctx has ended while the program itself uses all connections of the pool, the
// returned error says so instead. The call began at the time began.
func (s *store) noConnectionError(ctx context.Context, began time.Time, err error) error {
	if ctx.Err() == nil || !s.allInUse() {
		return err
	}
	return &waitError{fmt.Sprintf("waited %v for a connection, and all %d of the pool are in use, "+
		"perhaps by a transaction that waits for this call: end it first, or raise SetMaxOpenConns",
		time.Since(began).Round(time.Millisecond), s.pool.Stats().MaxOpenConnections), context.Cause(ctx)}
}

// lateError returns the error of a call that began at this time, and whose ctx has ended.
// err is the error of the last attempt, or nil. The text names the likely reason for the
// wait, and the statement that was not answered, if one is known.
func (s *store) lateError(ctx context.Context, began time.Time, err error) error {
	if wait := (*waitError)(nil); errors.As(err, &wait) { // it names the reason already
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

// endWithContext returns the result of f, but returns at most grace after ctx has ended,
// even if f does not return. For example, SQLite's drivers wait for the lock until the busy
// timeout has passed. Within grace, f can return an error that says more than the error of
// endWithContext. A hint about poolers is added to errors that a pooler such as PgBouncer
// causes.
func endWithContext[T any](ctx context.Context, s *store, f func() (T, error)) (T, error) {
	began := time.Now()
	// graceCtx ends 100 ms (grace) after ctx.
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
