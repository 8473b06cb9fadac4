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

// Proxy passes TCP connections on to a server, can lead them to another one,
// and can lose what the server answers: the request has been carried out then,
// and the client cannot know.
type Proxy struct {
	listener net.Listener
	lose     atomic.Bool
	cut      atomic.Int32 // counts down; the reply that makes it zero is cut
	some     atomic.Pointer[losses]
	lost     atomic.Int64 // of some
	repeats  atomic.Pointer[losses]
	repeated atomic.Int64

	mu      sync.Mutex
	servers []string // none: connections are closed at once
	next    int
	links   map[*link]bool
}

// losses are the answers that LoseSome loses.
type losses struct {
	mark    []byte
	every   int64
	silence time.Duration
	marked  atomic.Int64
}

// carryOut is the least time that a server has for a request whose answer gets
// lost.
const carryOut = 10 * time.Millisecond

// NewProxy starts a proxy for the servers at these addresses, host:port: see
// [Proxy.Lead]. It ends with the test.
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

// Address is where the proxy listens, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

func (p *Proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Proxy starts a proxy for the server, and returns it and the server's URL with
// the proxy in the server's place.
func (s *Server) Proxy(t testing.TB) (p *Proxy, url string) {
	t.Helper()
	p = NewProxy(t, s.Address())
	return p, s.URLThrough(p)
}

// Pass lets everything through again, on new connections and on those that have
// lost nothing.
func (p *Proxy) Pass() { p.lose.Store(false) }

// Lose swallows replies from now on. A connection that has lost one stays open
// and stays mute.
func (p *Proxy) Lose() { p.lose.Store(true) }

// CutAfter lets so many replies pass and closes a connection instead of passing
// the next one on. Later replies pass. It counts what arrives in one piece as
// one reply.
func (p *Proxy) CutAfter(replies int) { p.cut.Store(int32(replies) + 1) }

// Lead closes all connections, and leads new ones to the servers at these
// addresses, host:port, to each in turn that accepts them. Where there is none,
// or only an empty one, new connections are closed at once.
func (p *Proxy) Lead(servers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers = servers
	for l := range p.links {
		l.close()
	}
	clear(p.links)
}

// LoseSome loses from now on the answer to every nth request that contains the
// mark. The request reaches the server, and nothing that the server sends comes
// back until the connection is closed: at once in half of the cases, and within
// the silence in the others.
func (p *Proxy) LoseSome(mark string, n int, silence time.Duration) {
	p.some.Store(&losses{mark: []byte(mark), every: int64(n), silence: silence})
}

// Lost returns how many answers LoseSome has lost.
func (p *Proxy) Lost() int { return int(p.lost.Load()) }

// RepeatSome sends from now on every nth request that contains the mark twice, and
// passes on the second answer alone, as proxies do that have lost the first one. It
// takes what arrives in one piece for one request, or for one answer.
func (p *Proxy) RepeatSome(mark string, n int) {
	p.repeats.Store(&losses{mark: []byte(mark), every: int64(n)})
}

// Repeated returns how many requests RepeatSome has sent twice.
func (p *Proxy) Repeated() int { return int(p.repeated.Load()) }

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

// link holds the mutex while it dials, so that Lead misses no connection. A
// server on this machine accepts or refuses at once.
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

// A link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	losing         atomic.Bool // by LoseSome
	swallow        atomic.Bool // the next answer, for RepeatSome
	swallowed      chan bool   // closed at the end of the answers
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

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

// first sends a request whose answer nobody gets, and reports whether there was one.
func (l *link) first(request []byte) bool {
	l.swallow.Store(true)
	if _, err := l.server.Write(request); err != nil {
		return false
	}
	l.proxy.repeated.Add(1)
	return <-l.swallowed
}

func (s *losses) hit(request []byte) bool {
	return bytes.Contains(request, s.mark) && s.marked.Add(1)%s.every == 0
}

func (s *losses) delay() time.Duration {
	if rand.IntN(2) == 0 {
		return carryOut
	}
	return carryOut + rand.N(s.silence)
}

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
