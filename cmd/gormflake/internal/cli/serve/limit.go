package serve

import (
	"container/list"
	"crypto/tls"
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
	open   int
	closed bool
	idle   *list.List // of connections, the one that has been idle longest first
	place  map[net.Conn]*list.Element
}

// limit makes server, which is to serve on the listener, say which connections are idle.
func limit(server *http.Server, listener net.Listener, most int) *limiter {
	l := &limiter{Listener: listener, most: most, idle: list.New(), place: map[net.Conn]*list.Element{}}
	l.change = sync.NewCond(&l.mu)
	server.ConnState = l.track
	return l
}

func (l *limiter) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.reserve() {
		return nil, conn.Close()
	}
	return &limited{conn, sync.OnceFunc(l.release)}, nil
}

// reserve waits for a place, and reports whether there still is a listener.
func (l *limiter) reserve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.most && !l.closed {
		oldest := l.idle.Front()
		if oldest == nil {
			l.change.Wait()
			continue
		}
		conn := oldest.Value.(net.Conn)
		l.remove(conn)
		l.mu.Unlock()
		_ = conn.Close()
		l.mu.Lock()
	}
	l.open++
	return !l.closed
}

func (l *limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.change.Signal()
}

// track is called by the server. A new connection is idle until its first byte.
func (l *limiter) track(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn() // whose Close sends nothing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(conn)
	if state == http.StateNew || state == http.StateIdle {
		l.place[conn] = l.idle.PushBack(conn)
		l.change.Signal()
	}
}

func (l *limiter) remove(conn net.Conn) {
	if at, ok := l.place[conn]; ok {
		l.idle.Remove(at)
		delete(l.place, conn)
	}
}

func (l *limiter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.change.Broadcast()
	return l.Listener.Close()
}

type limited struct {
	net.Conn
	release func()
}

func (c *limited) Close() error {
	defer c.release()
	return c.Conn.Close()
}
