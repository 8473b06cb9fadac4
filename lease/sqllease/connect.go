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

	// pingTimeout is how long a connection may take to show that it is alive.
	pingTimeout = 2 * time.Second
)

var errSlow = fmt.Errorf("no connection within %v: the server is slow or cannot be reached", openTimeout)

// pooled is a store over any connection of its pool.
type pooled struct{ *store }

var _ lease.Connector = pooled{}

// Connect implements [lease.Connector].
func (s pooled) Connect(ctx context.Context) (lease.Store, func(), error) {
	conn, err := s.living(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sqllease: %w", err)
	}
	p := &pin{conn: conn, busy: make(chan struct{}, 1)}
	return withClock(&store{shared: s.shared, pin: p}), p.release, nil
}

// living waits for a connection that answers. A pool keeps those that a server
// has closed when it was restarted, but no more than it has open.
func (s *store) living(ctx context.Context) (*sql.Conn, error) {
	began := time.Now()
	for dead := s.pool.Stats().OpenConnections; ; dead-- {
		conn, err := s.open(ctx)
		if err == nil {
			if err = ping(ctx, conn); err == nil {
				return conn, nil
			}
			discard(conn)
		} else if !errors.Is(err, errSlow) {
			dead = 0
		}
		if ctx.Err() != nil || dead <= 0 {
			return nil, s.noConnection(ctx, began, err)
		}
	}
}

// open waits as long as ctx lasts where it waits in the pool's queue, and for a
// while where there is none and it waits for the server: a network that drops
// everything would keep it for minutes after it works again.
func (s *store) open(ctx context.Context) (*sql.Conn, error) {
	if stats := s.pool.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return s.pool.Conn(ctx)
	}
	brief, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	conn, err := s.pool.Conn(brief)
	if err != nil && ctx.Err() == nil && brief.Err() != nil {
		err = errSlow
	}
	return conn, err
}

func ping(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return conn.PingContext(ctx)
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

var errAbandoned = errors.New("the connection still serves a call whose context has ended")

func (p *pin) use(ctx context.Context, f func(*sql.Conn) error) error {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
		return f(p.conn)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errAbandoned, context.Cause(ctx))
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
