package sqllease

import (
	"context"
	"database/sql"
)

// A pin is the connection of a store that uses only this connection.
type pin struct {
	conn *sql.Conn
	busy chan struct{} // held while the driver uses the connection
}

// use calls f with the connection. It first waits until an earlier call of f has returned. A
// driver may still use the connection for that call, although the context of the call has
// ended and its caller no longer waits. If ctx ends first, use returns a waitError.
func (p *pin) use(ctx context.Context, f func(*sql.Conn) error) error {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
		return f(p.conn)
	case <-ctx.Done():
		return &waitError{"the connection still serves a call whose context has ended", context.Cause(ctx)}
	}
}

// release returns the connection to the pool. If an earlier call, whose context has ended,
// still uses the connection, release does not wait. The pool then gets the connection back
// once the driver is done.
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

// close returns the connection to the pool, and then receives from busy. The caller has sent
// to busy.
func (p *pin) close() {
	_ = p.conn.Close()
	<-p.busy
}
