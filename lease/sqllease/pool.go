package sqllease

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"
)

const (
	// openTimeout is how long a server may take to accept a connection. It does not
	// apply while all connections of the pool are in use.
	openTimeout = 5 * time.Second

	// maxPlaces is the largest number of places that one call takes in the pool's queue for
	// a connection. queueSteps divides the time of a call into steps, after each of which
	// the call doubles its places. The call has maxPlaces after seven steps, which are a
	// ninth of its time.
	maxPlaces  = 128
	queueSteps = 64

	// maxFurtherPlaces is how many places all calls on a pool may have, beyond the first
	// place of each call. Each place is a goroutine that waits, so these need some 10 MB.
	maxFurtherPlaces = 2048
)

// furtherPlaces counts, for each pool, the places in its queue that calls have beyond the
// first place of each call. The count belongs to the pool and not to the store, because many
// leases may each have a store of their own on the same pool. It does not belong to the
// process, because the calls on a busy pool would then leave no places to the calls on
// another pool.
var furtherPlaces = placeCounts{of: map[*sql.DB]int{}}

// A placeCounts holds the number of further places on each pool. A pool without such places
// is not in the map.
type placeCounts struct {
	mu sync.Mutex
	of map[*sql.DB]int
}

// take adds n to the count of the pool, or less if the count would exceed maxFurtherPlaces.
// It returns how many places it has added.
func (c *placeCounts) take(pool *sql.DB, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, maxFurtherPlaces-c.of[pool])
	c.of[pool] += n
	return n
}

// giveBack subtracts n from the count of the pool.
func (c *placeCounts) giveBack(pool *sql.DB, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[pool] -= n; c.of[pool] == 0 {
		delete(c.of, pool) // so that a pool that is not used any more can be freed
	}
}

// errSlow is the error of a connection that the server has not accepted in openTimeout.
var errSlow = fmt.Errorf("no connection within %v: the server is slow or cannot be reached", openTimeout)

// openConn waits for a connection of the pool. While all connections of the pool are in use,
// openConn waits until ctx ends, because only the program decides when it returns a
// connection. Otherwise openConn waits for the server, and returns errSlow after
// openTimeout. Without this limit, a dial in a network that drops all packets would hang for
// minutes after the network works again.
func (s *store) openConn(ctx context.Context) (*sql.Conn, error) {
	if !s.allInUse() {
		brief, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		conn, err := s.pool.Conn(brief)
		if err == nil || ctx.Err() != nil || brief.Err() == nil { // not an error of openTimeout
			return conn, err
		}
		if !s.allInUse() { // otherwise the program has taken all connections since
			return nil, errSlow
		}
	}
	return s.queueForConn(ctx)
}

// allInUse reports whether the pool has a limit of connections, and callers use as many.
func (s *store) allInUse() bool {
	stats := s.pool.Stats()
	return stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections
}

// queueForConn waits for a connection that another user returns to the pool. Package
// database/sql hands a returned connection to a waiter chosen at random, so among many
// waiters a call may wait for minutes. To improve its chance, queueForConn waits in several
// places at once, and doubles their number after each step of its time.
func (s *store) queueForConn(ctx context.Context) (*sql.Conn, error) {
	waiting, leave := context.WithCancel(ctx)
	defer leave()
	answers := make(chan connResult)
	step := time.NewTicker(queueStep(ctx))
	defer step.Stop()
	s.waitInQueue(waiting, answers)
	places := 1 // of this call
	defer func() { furtherPlaces.giveBack(s.pool, places-1) }()
	for {
		select {
		case a := <-answers:
			return a.conn, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-step.C:
			more := furtherPlaces.take(s.pool, min(places, maxPlaces-places))
			for range more {
				s.waitInQueue(waiting, answers)
			}
			places += more
		}
	}
}

// queueStep returns the time after which queueForConn doubles its places. It is 1/64 of the
// time until the deadline of ctx, but at least a millisecond. Without a deadline it is a
// second.
func queueStep(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Second
	}
	return max(time.Millisecond, time.Until(deadline)/queueSteps)
}

// A connResult is the result of waiting in one place of the pool's queue.
type connResult struct {
	conn *sql.Conn
	err  error
}

// waitInQueue starts a goroutine that waits in one place of the queue. If the goroutine gets
// a connection, or an error, it sends this result to answers. If ctx has ended before anyone
// receives the result, because the call has got a connection in another place, the goroutine
// returns its own connection to the pool.
func (s *store) waitInQueue(ctx context.Context, answers chan<- connResult) {
	go func() {
		conn, err := s.pool.Conn(ctx)
		select {
		case answers <- connResult{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
}

// discard closes the connection instead of returning it to the pool. Package database/sql
// closes a connection whose driver returns ErrBadConn.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
