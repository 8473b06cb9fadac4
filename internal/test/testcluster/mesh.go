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

// mesh contains the gates through which the members of a cluster reach each other. A gate
// is an address that forwards connections to a member. The mesh knows which server opened
// each connection. It can separate servers as a broken network does, by dropping their
// data without closing connections.
type mesh struct {
	t testing.TB

	mu        sync.Mutex
	servers   []*testserver.Server                   // servers that the mesh identifies; it treats all other processes as clients
	separated func(from, to *testserver.Server) bool // nil if no servers are separated
	links     map[*meshLink]bool
}

// addServers adds servers whose connections the mesh identifies.
func (m *mesh) addServers(servers []*testserver.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers = append(m.servers, servers...)
}

// meshLink is a connection through a gate.
type meshLink struct {
	from, to       *testserver.Server // from is nil for a client
	client, server net.Conn
	mute           atomic.Bool // whether its data is dropped
}

// close closes both sides of the connection.
func (l *meshLink) close() {
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// gate listens at an address, and forwards connections to target, which is the address of
// the server to.
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

// pass forwards a connection through a gate until either side closes the connection. If the
// two servers are separated when the connection begins, pass only reads and drops its data.
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

// add adds the link, and mutes it if its servers are separated now.
func (m *mesh) add(l *meshLink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.mute.Store(m.separated != nil && m.separated(l.from, l.to))
	if m.links == nil {
		m.links = map[*meshLink]bool{}
	}
	m.links[l] = true
}

// connect sets l.server under the lock, because [mesh.separate] may close the link at any
// time.
func (m *mesh) connect(l *meshLink, server net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.server = server
}

// remove closes the link and forgets it.
func (m *mesh) remove(l *meshLink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.links, l)
	l.close()
}

// swallow reads and drops the data of a muted connection.
func (l *meshLink) swallow() {
	buffer := make([]byte, 32<<10)
	for {
		if _, err := l.client.Read(buffer); err != nil {
			return
		}
	}
}

// forward copies the data in one direction, and drops it while the link is mute.
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

// separate mutes the connections between the servers for which separated is true. It closes
// connections that are no longer muted, because data of them is missing.
func (m *mesh) separate(separated func(from, to *testserver.Server) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.separated = separated
	for l := range m.links {
		was := l.mute.Swap(separated != nil && separated(l.from, l.to))
		if was && !l.mute.Load() {
			l.close()
		}
	}
}

// isolate separates a server from all other servers, but not from clients.
func (m *mesh) isolate(s *testserver.Server) {
	m.separate(func(from, to *testserver.Server) bool { return from != nil && (from == s) != (to == s) })
}

// ownerTries is the number of attempts to find the owner of a connection, one in each
// millisecond. The first attempts may fail, because the system may not yet show the socket of
// the process that has opened the connection.
const ownerTries = 20

// owner returns the server that opened a connection, or nil if a client opened it. known is
// false if the owner cannot be found, because the connection is closed.
func (m *mesh) owner(client net.Conn) (s *testserver.Server, known bool) {
	for range ownerTries {
		if socket := socketOf(client); socket != "" {
			return m.serverWith(socket), true
		}
		time.Sleep(time.Millisecond)
	}
	return nil, false
}

// serverWith returns the server that has the socket open, or nil for a client's.
func (m *mesh) serverWith(socket string) *testserver.Server {
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
