package sqllease

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/lease"
)

const (
	// openTimeout is how long a server may take to accept a connection. It does not
	// apply while all connections of the pool are in use.
	openTimeout = 5 * time.Second

	// statementTimeout is how long a server may take for a statement that inspects a
	// connection. If a pool keeps many connections, each gets less time, because all of
	// them may be dead, but at least minStatement.
	statementTimeout = 5 * time.Second
	minStatement     = 2 * time.Second

	// maxPlaces is the largest number of places in the pool's queue for one call. In
	// addition to a first place each, all calls of a store share that many places.
	// queueSteps divides the time of a call into steps, after each of which it doubles
	// its places. It reaches maxPlaces after a ninth of its time.
	maxPlaces  = 128
	queueSteps = 64
)

var errSlow = fmt.Errorf("no connection within %v: the server is slow or cannot be reached", openTimeout)

// Connect implements [lease.Connector].
func (s *store) Connect(ctx context.Context) (lease.Store, func(), error) {
	conn, err := s.usable(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sqllease: %w", err)
	}
	p := &pin{conn: conn, busy: make(chan struct{}, 1)}
	over := &store{shared: s.shared, pin: p}
	if _, err := onTable(ctx, over, func(t table) (table, error) { return t, nil }); err != nil {
		p.release()
		return nil, nil, err
	}
	return withClock(over), p.release, nil
}

// statementLimit returns the time limit for each statement of an inspection. It leaves
// time to inspect as many other connections, which may be dead, before ctx ends.
func statementLimit(ctx context.Context, others int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return statementTimeout
	}
	share := time.Until(deadline) / time.Duration(2*(max(others, 0)+1))
	return min(statementTimeout, max(minStatement, share))
}

// usable waits for a connection that answers and on which the store may write. It
// discards connections of the pool that are dead after a restart of the server, or that
// a program has left in a state in which the store must not write. It tries at most as
// many as the pool had open, and after errors of kind elsewhere up to maxMoves more.
func (s *store) usable(ctx context.Context) (*sql.Conn, error) {
	began := time.Now()
	for dead := s.pool.Stats().OpenConnections; ; dead-- {
		conn, err := s.open(ctx)
		if err == nil {
			err = s.leaveLost(ctx, conn, s.inspect(ctx, conn, statementLimit(ctx, dead)))
			if err == nil {
				return conn, nil
			}
			discard(conn)
		} else if !errors.Is(err, errSlow) {
			dead = 0
		}
		if ctx.Err() != nil || dead <= 0 && (dead <= -maxMoves || s.classify(err) != elsewhere) {
			return nil, s.noConnection(ctx, began, err)
		}
	}
}

// open waits for a connection. While all connections of the pool are in use it waits
// until ctx ends, because it depends on the program. Otherwise it waits for the server
// for openTimeout at most, because in a network that drops all packets a dial would
// hang for minutes after the network works again.
func (s *store) open(ctx context.Context) (*sql.Conn, error) {
	if !s.allInUse() {
		brief, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		conn, err := s.pool.Conn(brief)
		if err == nil || ctx.Err() != nil || brief.Err() == nil {
			return conn, err
		}
		if !s.allInUse() {
			return nil, errSlow
		}
	}
	return s.queue(ctx)
}

func (s *store) allInUse() bool {
	stats := s.pool.Stats()
	return stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections
}

// queue waits for a connection that another user returns to the pool. Package
// database/sql hands a returned connection to a waiter chosen at random, so among many
// waiters a call may wait for minutes. To improve its chance, queue waits in several
// places at once, and doubles their number after each step of its time.
func (s *store) queue(ctx context.Context) (*sql.Conn, error) {
	waiting, leave := context.WithCancel(ctx)
	defer leave()
	answers := make(chan answer)
	step := time.NewTicker(queueStep(ctx))
	defer step.Stop()
	s.wait(waiting, answers)
	places := 1
	defer func() { s.places.Add(int64(1 - places)) }()
	for {
		select {
		case a := <-answers:
			return a.conn, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-step.C:
			for range min(places, maxPlaces-places) {
				if s.places.Add(1) >= maxPlaces {
					s.places.Add(-1)
					break
				}
				s.wait(waiting, answers)
				places++
			}
		}
	}
}

func queueStep(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Second
	}
	return max(time.Millisecond, time.Until(deadline)/queueSteps)
}

type answer struct {
	conn *sql.Conn
	err  error
}

// wait waits in one place of the queue. If another place has won, it returns its
// connection to the pool.
func (s *store) wait(ctx context.Context, answers chan<- answer) {
	go func() {
		conn, err := s.pool.Conn(ctx)
		select {
		case answers <- answer{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
}

// discard closes the connection instead of returning it to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// A pin is the connection of a store that uses only this connection.
type pin struct {
	conn *sql.Conn
	busy chan struct{} // held while the driver uses the connection
}

func (p *pin) use(ctx context.Context, f func(*sql.Conn) error) error {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
		return f(p.conn)
	case <-ctx.Done():
		return &waitError{"the connection still serves a call whose context has ended", context.Cause(ctx)}
	}
}

// release returns the connection to the pool. It does not wait for an abandoned call:
// in that case the pool gets the connection back once the driver is done.
func (p *pin) release() {
	select {
	case p.busy <- struct{}{}:
		p.close()
	default:
		go func() {
			p.busy <- struct{}{}
			p.close()
		}()
	}
}

func (p *pin) close() {
	_ = p.conn.Close()
	<-p.busy
}
