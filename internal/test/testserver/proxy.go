package testserver

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards TCP connections to a server. It can redirect them to another server, and
// can drop the server's replies. A client whose reply is dropped cannot know that the
// server has executed its request.
type Proxy struct {
	listener net.Listener
	lose     atomic.Bool            // set by Lose
	cut      atomic.Int32           // counts down; the proxy cuts the reply that makes it zero
	some     atomic.Pointer[losses] // set by LoseSome
	lost     atomic.Int64           // replies that LoseSome has dropped
	repeats  atomic.Pointer[losses] // set by RepeatSome
	repeated atomic.Int64           // requests that RepeatSome has sent twice

	mu      sync.Mutex
	servers []string // if empty, the proxy closes connections at once
	next    int      // index of the server that the next connection tries first
	links   map[*link]bool
}

// losses chooses every nth request that contains a mark, for LoseSome and RepeatSome.
type losses struct {
	mark    []byte
	every   int64
	silence time.Duration // see LoseSome
	marked  atomic.Int64  // requests with the mark so far
}

// carryOut is the time that a server has at least to execute a request whose reply is
// dropped, before the proxy closes the connection.
const carryOut = 10 * time.Millisecond

// NewProxy starts a proxy for the servers at these addresses, host:port, as [Proxy.Lead]
// describes. The proxy ends with the test.
func NewProxy(t testing.TB, servers ...string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("testserver: %v", err)
	}
	p := &Proxy{listener: listener, servers: servers, links: map[*link]bool{}}
	t.Cleanup(func() { _ = listener.Close() })
	go p.accept()
	return p
}

// Address returns the address on which the proxy listens, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

func (p *Proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Proxy starts a proxy for the server. It returns the proxy, and the server's URL with
// the proxy's address.
func (s *Server) Proxy(t testing.TB) (p *Proxy, url string) {
	t.Helper()
	p = NewProxy(t, s.Address())
	return p, s.URLThrough(p)
}

// Pass forwards all replies again, on new connections and on connections that have lost
// no reply.
func (p *Proxy) Pass() { p.lose.Store(false) }

// Lose drops replies from now on. A connection that has lost a reply stays open and stays
// mute.
func (p *Proxy) Lose() { p.lose.Store(true) }

// CutAfter forwards the given number of replies. It then closes the connection of the
// next reply instead of forwarding it. Later replies pass. Data that arrives in one piece
// counts as one reply.
func (p *Proxy) CutAfter(replies int) { p.cut.Store(int32(replies) + 1) }

// Lead closes all connections. It forwards new connections to the servers at these
// addresses, host:port, in turn, and skips servers that do not accept. If no server
// accepts, the proxy closes new connections at once.
func (p *Proxy) Lead(servers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers = servers
	for l := range p.links {
		l.close()
	}
	clear(p.links)
}

// LoseSome drops, from now on, the reply to every nth request that contains the mark. The
// request reaches the server. The proxy then drops all replies of the connection, and
// closes it at once in half of the cases, and within the duration silence in the other
// cases.
func (p *Proxy) LoseSome(mark string, n int, silence time.Duration) {
	p.some.Store(&losses{mark: []byte(mark), every: int64(n), silence: silence})
}

// Lost returns the number of replies that LoseSome has dropped.
func (p *Proxy) Lost() int { return int(p.lost.Load()) }

// RepeatSome sends, from now on, every nth request that contains the mark twice, and
// forwards only the second reply, as proxies do that have lost the first reply. Data that
// arrives in one piece counts as one request or reply.
func (p *Proxy) RepeatSome(mark string, n int) {
	p.repeats.Store(&losses{mark: []byte(mark), every: int64(n)})
}

// Repeated returns the number of requests that RepeatSome has sent twice.
func (p *Proxy) Repeated() int { return int(p.repeated.Load()) }

// accept forwards the connections of clients until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := p.link(client)
		if l == nil {
			_ = client.Close()
			continue
		}
		go l.requests()
		go func() {
			l.replies()
			p.unlink(l)
		}()
	}
}

// link connects a client to the next server that accepts, or returns nil if none does. It
// holds the mutex while it dials, so that Lead misses no connection. This does not block
// for long, because a server on this machine accepts or refuses at once.
func (p *Proxy) link(client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.servers {
		server, err := net.Dial("tcp", p.servers[p.next%len(p.servers)])
		p.next++
		if err == nil {
			l := &link{proxy: p, client: client, server: server, swallowed: make(chan bool)}
			p.links[l] = true
			return l
		}
	}
	return nil
}

func (p *Proxy) unlink(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// link is a connection of a client through the proxy to a server.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	losing         atomic.Bool // set by LoseSome
	swallow        atomic.Bool // drop the next reply, for RepeatSome
	swallowed      chan bool   // receives a value per dropped reply, and is closed after the last reply
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// requests forwards the client's requests to the server, until either side closes the
// connection.
func (l *link) requests() {
	defer func() { _ = l.server.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buffer)
		if err != nil {
			return
		}
		if some := l.proxy.some.Load(); some != nil && some.hit(buffer[:n]) && l.losing.CompareAndSwap(false, true) {
			time.AfterFunc(some.delay(), l.close)
		}
		if some := l.proxy.repeats.Load(); some != nil && some.hit(buffer[:n]) && !l.first(buffer[:n]) {
			return
		}
		if _, err := l.server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// first sends a request whose reply the proxy drops, and reports whether the server
// replied.
func (l *link) first(request []byte) bool {
	l.swallow.Store(true)
	if _, err := l.server.Write(request); err != nil {
		return false
	}
	l.proxy.repeated.Add(1)
	return <-l.swallowed
}

// hit counts the request if it contains the mark, and reports whether it is an nth.
func (s *losses) hit(request []byte) bool {
	return bytes.Contains(request, s.mark) && s.marked.Add(1)%s.every == 0
}

// delay returns the time after which LoseSome closes the connection.
func (s *losses) delay() time.Duration {
	if rand.IntN(2) == 0 {
		return carryOut
	}
	return carryOut + rand.N(s.silence)
}

// replies forwards the server's replies to the client, except those that a fault drops,
// until either side closes the connection. A connection that has lost a reply is mute,
// because its later replies would answer other requests than the client expects.
func (l *link) replies() {
	defer close(l.swallowed)
	defer l.close()
	buffer := make([]byte, 32<<10)
	for mute, counted := false, false; ; {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		if l.swallow.CompareAndSwap(true, false) {
			l.swallowed <- true
			continue
		}
		if l.losing.Load() {
			if !counted {
				l.proxy.lost.Add(1)
			}
			counted = true
			continue
		}
		if l.proxy.cut.Add(-1) == 0 {
			return
		}
		if mute = mute || l.proxy.lose.Load(); mute {
			continue
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
