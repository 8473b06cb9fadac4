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
	// openTimeout is how long a server may take to accept a connection. It does
	// not run while others have all connections of the pool.
	openTimeout = 5 * time.Second

	// statementTimeout is how long a server may take over a statement that inspects a
	// connection. A pool that keeps many connections gives each less, because all of
	// them may be dead, but no less than minStatement.
	statementTimeout = 5 * time.Second
	minStatement     = 2 * time.Second

	// maxPlaces is in how many places of the pool's queue one call waits, and all calls
	// of a store together in addition to one place each. One call has them all after a
	// ninth of its time.
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

// statementLimit returns the time for each statement of an inspection, before which so
// many other connections of the pool may have to be tried.
func statementLimit(ctx context.Context, others int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return statementTimeout
	}
	share := time.Until(deadline) / time.Duration(2*(max(others, 0)+1))
	return min(statementTimeout, max(minStatement, share))
}

// usable waits for a connection that answers, and on which the store may write. A
// pool keeps those that a server has closed when it was restarted, or that a program
// has left otherwise, but no more than it has open.
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

// open waits as long as ctx lasts where it waits for others to end, and for a
// while where it waits for the server: a network that drops everything would
// keep it for minutes after it works again.
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

// queue waits for a connection that another returns. Package database/sql
// hands it to a waiter chosen at random, and one among many may not be chosen
// for minutes. So this one waits in several places, twice as many after each
// step of its time.
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

// wait gives a connection back where another place had one first.
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

// discard closes the connection instead of giving it back to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// A pin is the connection of a store that has only this one.
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

// release gives the connection back to the pool, and waits for no call that
// was abandoned: the pool has the connection back once the driver is done.
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
