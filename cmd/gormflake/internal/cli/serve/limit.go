package serve

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// A limiter is a listener with a maximum number of open connections. For a further
// connection, it closes the connection that has been idle for the longest time, so that
// clients with idle connections do not keep other clients out.
type limiter struct {
	net.Listener
	maxOpen int // maximum number of open connections

	mu      sync.Mutex
	changed *sync.Cond // signals changes of the following fields, which mu guards
	closed  bool
	idle    *list.List                 // the idle connections, beginning with the longest idle
	open    map[net.Conn]*list.Element // all open connections; the element of idle, or nil during a request
}

// limitConnections returns a listener with at most maxOpen open connections. It sets
// server.ConnState, by which the limiter learns which connections are idle. So the server
// must serve only this listener.
func limitConnections(server *http.Server, listener net.Listener, maxOpen int) *limiter {
	l := &limiter{Listener: listener, maxOpen: maxOpen, idle: list.New(), open: map[net.Conn]*list.Element{}}
	l.changed = sync.NewCond(&l.mu)
	server.ConnState = l.track
	return l
}

// Accept returns the next connection. If maxOpen connections are open, it first closes the
// connection that has been idle for the longest time. If all are busy with requests, it
// waits until a request ends.
func (l *limiter) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.maxOpen && !l.closed {
		oldest := l.idle.Front()
		if oldest == nil {
			l.changed.Wait() // releases mu meanwhile
			continue
		}
		idle := l.idle.Remove(oldest).(net.Conn)
		delete(l.open, idle)
		_ = idle.Close()
	}
	if l.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	l.open[conn] = l.idle.PushBack(conn) // a connection is idle until its first byte
	return conn, nil
}

// track records whether a connection is idle, busy or closed. The server calls it when the
// state of a connection changes.
func (l *limiter) track(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		// The keys of open are the connections under TLS, which Accept has returned. Their
		// Close sends no TLS message, which could block Accept.
		conn = secure.NetConn()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	inIdle, open := l.open[conn]
	if inIdle != nil { // the connection was idle until now
		l.idle.Remove(inIdle)
	}
	switch {
	case !open: // the limiter has closed it already
	case state == http.StateClosed:
		delete(l.open, conn)
	case state == http.StateNew || state == http.StateIdle:
		l.open[conn] = l.idle.PushBack(conn)
	default: // a request is running
		l.open[conn] = nil
	}
	l.changed.Signal()
}

// Close closes the listener, and wakes an Accept that waits for a request to end.
func (l *limiter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	return l.Listener.Close()
}
