package testcluster

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// A mesh is the gates before the members of a cluster, through which they reach
// each other. It knows which server each connection is from, and can part servers
// as a network does: what is sent arrives nowhere, and nobody is told.
type mesh struct {
	t testing.TB

	mu      sync.Mutex
	servers []*testserver.Server                   // that are told apart; everybody else is a client
	parted  func(from, to *testserver.Server) bool // nil: nobody
	links   map[*meshLink]bool
}

func (m *mesh) know(servers []*testserver.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers = append(m.servers, servers...)
}

// A meshLink is one connection through a gate.
type meshLink struct {
	from, to       *testserver.Server // from is nil for a client
	client, server net.Conn
	mute           atomic.Bool
}

func (l *meshLink) close() {
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// gate listens at an address, and passes connections on to another one, which is
// the server's.
func (m *mesh) gate(to *testserver.Server, listen, target string) (net.Listener, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	m.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go m.pass(client, to, target)
		}
	}()
	return listener, nil
}

func (m *mesh) pass(client net.Conn, to *testserver.Server, target string) {
	from, known := m.owner(client)
	if !known {
		_ = client.Close()
		return
	}
	l := &meshLink{from: from, to: to, client: client}
	m.add(l)
	defer m.remove(l)
	if l.mute.Load() {
		l.swallow()
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	m.connect(l, server)
	go func() {
		defer l.close()
		l.forward(server, client)
	}()
	l.forward(client, server)
}

// add decides in the same moment whether the link is mute.
func (m *mesh) add(l *meshLink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.mute.Store(m.parted != nil && m.parted(l.from, l.to))
	if m.links == nil {
		m.links = map[*meshLink]bool{}
	}
	m.links[l] = true
}

// connect is for [mesh.part], which may close the link at any time.
func (m *mesh) connect(l *meshLink, server net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.server = server
}

func (m *mesh) remove(l *meshLink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.links, l)
	l.close()
}

// swallow holds a connection that leads nowhere.
func (l *meshLink) swallow() {
	buffer := make([]byte, 32<<10)
	for {
		if _, err := l.client.Read(buffer); err != nil {
			return
		}
	}
}

func (l *meshLink) forward(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if l.mute.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// part mutes the connections between the servers for which parted is true. What
// is not parted any more is closed: something of it is missing.
func (m *mesh) part(parted func(from, to *testserver.Server) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parted = parted
	for l := range m.links {
		was := l.mute.Swap(parted != nil && parted(l.from, l.to))
		if was && !l.mute.Load() {
			l.close()
		}
	}
}

// isolate parts one server from all others, and from no client.
func (m *mesh) isolate(s *testserver.Server) {
	m.part(func(from, to *testserver.Server) bool { return from != nil && (from == s) != (to == s) })
}

// ownerTries is how often the system is asked whose a connection is.
const ownerTries = 20

// owner is the server that a connection comes from, or nil for a client. It is not
// known for one that has been closed.
func (m *mesh) owner(client net.Conn) (s *testserver.Server, known bool) {
	for range ownerTries {
		if socket := socketOf(client); socket != "" {
			return m.holderOf(socket), true
		}
		time.Sleep(time.Millisecond)
	}
	return nil, false
}

func (m *mesh) holderOf(socket string) *testserver.Server {
	m.mu.Lock()
	servers := slices.Clone(m.servers)
	m.mu.Unlock()
	for _, s := range servers {
		if pid := s.PID(); pid != 0 && hasSocket(pid, socket) {
			return s
		}
	}
	return nil
}
