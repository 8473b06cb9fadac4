package serve

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// A limiter is a listener with so many open connections at most. For another one it
// closes the connection that has had no request under way for the longest time, so that
// clients that hold connections and ask nothing keep nobody out.
type limiter struct {
	net.Listener
	most int

	mu     sync.Mutex
	change *sync.Cond // of what follows
	closed bool
	idle   *list.List                 // of connections, the one that has been idle longest first
	open   map[net.Conn]*list.Element // where in idle each connection is; nil while a request is under way
}

// limit makes server, which is to serve on the listener, say which connections are idle.
func limit(server *http.Server, listener net.Listener, most int) *limiter {
	l := &limiter{Listener: listener, most: most, idle: list.New(), open: map[net.Conn]*list.Element{}}
	l.change = sync.NewCond(&l.mu)
	server.ConnState = l.track
	return l
}

func (l *limiter) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.most && !l.closed {
		oldest := l.idle.Front()
		if oldest == nil {
			l.change.Wait()
			continue
		}
		idle := l.idle.Remove(oldest).(net.Conn)
		delete(l.open, idle)
		_ = idle.Close()
	}
	if l.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	l.open[conn] = l.idle.PushBack(conn) // until its first byte
	return conn, nil
}

// track is called by the server.
func (l *limiter) track(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn() // whose Close sends nothing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, open := l.open[conn]
	if at != nil {
		l.idle.Remove(at)
	}
	switch {
	case !open: // it was closed for another one
	case state == http.StateClosed:
		delete(l.open, conn)
	case state == http.StateNew || state == http.StateIdle:
		l.open[conn] = l.idle.PushBack(conn)
	default:
		l.open[conn] = nil
	}
	l.change.Signal()
}

func (l *limiter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.change.Broadcast()
	return l.Listener.Close()
}
