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

// use calls f with the connection. It waits until an earlier call, from which its caller
// may have turned away because its context had ended, is done with the connection.
func (p *pin) use(ctx context.Context, f func(*sql.Conn) error) error {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
		return f(p.conn)
	case <-ctx.Done():
		return &waitError{"the connection still serves a call whose context has ended", context.Cause(ctx)}
	}
}

// release returns the connection to the pool. It does not wait for a call that its caller
// has abandoned. In that case the pool gets the connection back once the driver is done.
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

// close returns the connection to the pool. The caller has sent to busy.
func (p *pin) close() {
	_ = p.conn.Close()
	<-p.busy
}
