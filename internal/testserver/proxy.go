package testserver

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy passes TCP connections on to a server, can lead them to another one,
// and can lose what the server answers: the request has been carried out then,
// and the client cannot know.
type Proxy struct {
	listener net.Listener
	lose     atomic.Bool
	cut      atomic.Int32 // counts down; the reply that makes it zero is cut

	mu     sync.Mutex
	server string // empty: connections are refused
	open   map[net.Conn]bool
}

// NewProxy starts a proxy for the server at an address, host:port. It ends with
// the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("testserver: %v", err)
	}
	p := &Proxy{listener: listener, server: server, open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close() })
	go p.accept()
	return p
}

// Address is where the proxy listens, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

func (p *Proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

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

// Lead closes all connections, and leads new ones to the server at an address,
// host:port. Where the address is empty, new connections are closed at once.
func (p *Proxy) Lead(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
	for conn := range p.open {
		_ = conn.Close()
	}
	clear(p.open)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server := p.connect(client)
		if server == nil {
			_ = client.Close()
			continue
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		go func() {
			p.reply(client, server)
			p.disconnect(client, server)
		}()
	}
}

// connect holds the mutex while it dials, so that Lead misses no connection. A
// server on this machine accepts or refuses at once.
func (p *Proxy) connect(client net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == "" {
		return nil
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return nil
	}
	p.open[client], p.open[server] = true, true
	return server
}

func (p *Proxy) disconnect(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.open, conn)
	}
}

func (p *Proxy) reply(client io.Writer, server io.Reader) {
	buffer := make([]byte, 32<<10)
	for mute := false; ; {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		if p.cut.Add(-1) == 0 {
			return
		}
		if mute = mute || p.lose.Load(); mute {
			continue
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
