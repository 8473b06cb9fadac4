package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// Connect implements [lease.Connector].
func (s *store) Connect(ctx context.Context) (lease.Store, func(), error) {
	conn, err := s.usableConn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sqllease: %w", err)
	}
	p := &pin{conn: conn, busy: make(chan struct{}, 1)}
	connected := &store{shared: s.shared, pin: p}
	if _, err := onTable(ctx, connected, func(t tableName) (tableName, error) { return t, nil }); err != nil {
		p.release()
		return nil, nil, err
	}
	return withClock(connected), p.release, nil
}

// usableConn waits for a connection that answers and on which the store may write. It
// discards connections of the pool that are dead after a restart of the server, or that
// a program has left in a state in which the store must not write. It tries at most as
// many as the pool had open, and after errors of kind elsewhere up to maxMoves more.
func (s *store) usableConn(ctx context.Context) (*sql.Conn, error) {
	began := time.Now()
	// dead counts down the connections that may be dead, and below zero the moves after
	// errors of kind elsewhere.
	for dead := s.pool.Stats().OpenConnections; ; dead-- {
		conn, err := s.openConn(ctx)
		if err == nil {
			err = s.discardIfLost(ctx, conn, s.inspect(ctx, conn, statementLimit(ctx, dead)))
			if err == nil {
				return conn, nil
			}
			discard(conn)
		} else if !errors.Is(err, errSlow) {
			dead = min(dead, 0) // the pool dials only when it has no idle connection left to try
		}
		if ctx.Err() != nil || dead <= 0 && (dead <= -maxMoves || s.classify(err) != elsewhere) {
			return nil, s.noConnectionError(ctx, began, err)
		}
	}
}

// statementLimit returns the time limit for each statement of an inspection. The pool has
// this number of other connections, and all of them may be dead. A dead connection is
// discarded after its first statement, so that all of them together cost at most half of
// the time until ctx ends.
func statementLimit(ctx context.Context, others int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return statementTimeout
	}
	share := time.Until(deadline) / time.Duration(2*(max(others, 0)+1))
	return min(statementTimeout, max(minStatementTimeout, share))
}
