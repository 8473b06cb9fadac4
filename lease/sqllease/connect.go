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
	// At first use, onTable creates the table and checks it, so that Connect returns an
	// error about it. The function returns the table unchanged.
	if _, err := onTable(ctx, connected, func(t tableName) (tableName, error) { return t, nil }); err != nil {
		p.release()
		return nil, nil, err
	}
	return withClock(connected), p.release, nil
}

// usableConn waits for a connection that answers and on which the store may write. It
// discards connections of the pool that are dead after a restart of the server, or that
// a program has left in a state in which the store must not write. All connections that
// the pool had open may be dead, so it tries as many. After that it tries up to maxMoves
// more, as long as the error is of kind elsewhere, which means that a new connection may
// lead to a server that accepts the write.
func (s *store) usableConn(ctx context.Context) (*sql.Conn, error) {
	began := time.Now()
	// left is the number of open connections that may still be dead. Below zero, it
	// counts the further tries.
	for left := s.pool.Stats().OpenConnections; ; left-- {
		conn, err := s.openConn(ctx)
		if err == nil {
			err = s.discardIfLost(ctx, conn, s.inspect(ctx, conn, statementLimit(ctx, left)))
			if err == nil {
				return conn, nil
			}
			discard(conn)
		} else if !errors.Is(err, errSlow) {
			left = min(left, 0) // the pool dials only when it has no idle connection left to try
		}
		mayMove := left > -maxMoves && s.classify(err) == elsewhere
		if ctx.Err() != nil || left <= 0 && !mayMove {
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
