package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// Connect implements [lease.Connector]. It waits for a connection of the pool. It returns a
// store that uses only this connection, and a function that returns the connection to the
// pool.
func (s *store) Connect(ctx context.Context) (lease.Store, func(), error) {
	conn, err := s.usableConn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sqllease: %w", err)
	}
	p := &pin{conn: conn, busy: make(chan struct{}, 1)}
	connected := &store{shared: s.shared, pin: p}
	// The function does nothing. onTable is called because, at first use, it creates and
	// checks the table, so that Connect returns an error about the table.
	if _, err := onTable(ctx, connected, func(t tableName) (tableName, error) { return t, nil }); err != nil {
		p.release()
		return nil, nil, err
	}
	return withClock(connected), p.release, nil
}

// usableConn waits for a connection that answers and on which the store may write. It
// discards connections of the pool that are dead after a restart of the server, or that
// a program has left in a state in which the store must not write, for example with an
// open transaction.
//
// All connections that the pool has open may be dead. If five are open, usableConn therefore
// tries up to six connections, whatever the error is. After that it tries up to maxMoves
// more connections, as long as the error is of kind elsewhere, because a new connection may
// then lead to a server that accepts the write.
func (s *store) usableConn(ctx context.Context) (*sql.Conn, error) {
	began := time.Now()
	// left counts down from the number of open connections, each of which may be dead. At
	// zero and below, it counts the further tries.
	for left := s.pool.Stats().OpenConnections; ; left-- {
		conn, err := s.openConn(ctx)
		if err == nil {
			err = s.discardIfElsewhere(ctx, conn, s.inspect(ctx, conn, statementLimit(ctx, left)))
			if err == nil {
				return conn, nil
			}
			// discardIfElsewhere discards the connection only after an error of kind
			// elsewhere. A second discard has no effect.
			discard(conn)
		} else if !errors.Is(err, errSlow) {
			// The pool could not open a new connection. The pool opens a connection only if
			// none is idle, so no dead connection is left to try. After errSlow some may be
			// left, because the time may have passed while a driver such as pgx tested an
			// idle connection that is dead.
			left = min(left, 0)
		}
		mayMove := left > -maxMoves && s.classify(err) == elsewhere
		if ctx.Err() != nil || left <= 0 && !mayMove {
			return nil, s.noConnectionError(ctx, began, err)
		}
	}
}

// statementLimit returns the time limit for each statement that inspects a connection.
// others is how many further connections the call may have to try, because all of them may
// be dead. A negative others counts as 0.
//
// A dead connection costs one statement, after which it is discarded. All these connections
// together may take half of the time until ctx ends, so that the other half is left for a
// connection that answers. Each connection gets an equal share of the half, but at least
// minStatementTimeout and at most statementTimeout.
func statementLimit(ctx context.Context, others int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return statementTimeout
	}
	share := time.Until(deadline) / time.Duration(2*(max(others, 0)+1))
	return min(statementTimeout, max(minStatementTimeout, share))
}
