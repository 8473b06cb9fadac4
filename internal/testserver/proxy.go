package testserver

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Proxy passes TCP connections on to a server, and can lose what the server
// answers: the request has been carried out then, and the client cannot know.
type Proxy struct {
	listener net.Listener
	server   string
	lose     atomic.Bool
	cut      atomic.Int32 // counts down; the reply that makes it zero is cut
}

// NewProxy starts a proxy for the server at an address, host:port. It ends with
// the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("testserver: %v", err)
	}
	p := &Proxy{listener: listener, server: server}
	t.Cleanup(func() { _ = listener.Close() })
	go p.accept()
	return p
}

// Address is where the proxy listens, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

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

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		go func() {
			p.reply(client, server)
			_ = client.Close()
			_ = server.Close()
		}()
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
