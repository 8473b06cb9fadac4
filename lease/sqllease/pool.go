package sqllease

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
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
