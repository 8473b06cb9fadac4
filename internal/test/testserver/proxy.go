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
	listener     net.Listener
	loseAll      atomic.Bool              // set by Lose
	cutCountdown atomic.Int32             // counts down; the proxy cuts the reply that makes it zero
	loseRule     atomic.Pointer[lossRule] // set by LoseSome
	lost         atomic.Int64             // replies that LoseSome has dropped
	replyDelay   atomic.Int64             // set by Delay, in nanoseconds
	repeatRule   atomic.Pointer[lossRule] // set by RepeatSome
	repeated     atomic.Int64             // requests that RepeatSome has sent twice

	mu      sync.Mutex
	servers []string // if empty, the proxy closes connections at once
	next    int      // index of the server that the next connection tries first
	links   map[*link]bool
}

// lossRule chooses every nth request that contains a mark, for LoseSome and RepeatSome.
type lossRule struct {
	mark    []byte
	every   int64
	silence time.Duration // see LoseSome
	marked  atomic.Int64  // requests with the mark so far
}

// minReplyDelay is the time that a server has at least to execute a request whose reply is
// dropped, before the proxy closes the connection.
const minReplyDelay = 10 * time.Millisecond

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
func (p *Proxy) Pass() { p.loseAll.Store(false) }

// Lose drops replies from now on. A connection that has lost a reply stays open and stays
// mute.
func (p *Proxy) Lose() { p.loseAll.Store(true) }

// Delay makes the proxy hold back each later reply for d, like a server that is slow or far
// away. It delays several replies at the same time, and not one after the other.
func (p *Proxy) Delay(d time.Duration) { p.replyDelay.Store(int64(d)) }

// CutAfter forwards the given number of replies. It then closes the connection of the
// next reply instead of forwarding it. Later replies pass. Data that arrives in one piece
// counts as one reply.
func (p *Proxy) CutAfter(replies int) { p.cutCountdown.Store(int32(replies) + 1) }

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
// request reaches the server. The proxy then drops all replies of the connection. In half of
// the cases, it closes the connection as soon as the server has had minReplyDelay to execute the
// request. In the other cases, it closes the connection at a random time up to silence later.
func (p *Proxy) LoseSome(mark string, n int, silence time.Duration) {
	p.loseRule.Store(&lossRule{mark: []byte(mark), every: int64(n), silence: silence})
}

// Lost returns the number of replies that LoseSome has dropped.
func (p *Proxy) Lost() int { return int(p.lost.Load()) }

// RepeatSome sends, from now on, every nth request that contains the mark twice, and
// forwards only the second reply, as proxies do that have lost the first reply. Data that
// arrives in one piece counts as one request or reply.
func (p *Proxy) RepeatSome(mark string, n int) {
	p.repeatRule.Store(&lossRule{mark: []byte(mark), every: int64(n)})
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
			l := &link{proxy: p, client: client, server: server, replyDropped: make(chan bool)}
			p.links[l] = true
			return l
		}
	}
	return nil
}

// unlink forgets a connection that has ended.
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
	dropReply      atomic.Bool // drop the next reply, for RepeatSome
	replyDropped   chan bool   // receives a value per dropped reply, and is closed after the last reply

	delayed chan delayedReply // for Delay; nil before the first delayed reply; only replies sets it
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
		// LoseSome makes the connection lose its replies from now on, and closes it later.
		loseRule := l.proxy.loseRule.Load()
		loses := loseRule != nil && loseRule.selects(buffer[:n]) && l.losing.CompareAndSwap(false, true)
		// RepeatSome sends the request here and again below.
		if repeatRule := l.proxy.repeatRule.Load(); repeatRule != nil && repeatRule.selects(buffer[:n]) && !l.sendFirst(buffer[:n]) {
			return
		}
		if _, err := l.server.Write(buffer[:n]); err != nil {
			return
		}
		if loses { // after the server has got the request
			time.AfterFunc(loseRule.delay(), l.close)
		}
	}
}

// sendFirst sends a request whose reply the proxy drops, and reports whether the server
// replied.
func (l *link) sendFirst(request []byte) bool {
	l.dropReply.Store(true)
	if _, err := l.server.Write(request); err != nil {
		return false
	}
	l.proxy.repeated.Add(1)
	return <-l.replyDropped
}

// selects counts the request if the request contains the mark. It reports whether the rule chooses
// the request. For example, if every is 3, the rule chooses the third, sixth and ninth request
// with the mark.
func (s *lossRule) selects(request []byte) bool {
	return bytes.Contains(request, s.mark) && s.marked.Add(1)%s.every == 0
}

// delay returns the time after which LoseSome closes the connection.
func (s *lossRule) delay() time.Duration {
	if rand.IntN(2) == 0 {
		return minReplyDelay
	}
	return minReplyDelay + rand.N(s.silence)
}

// replies forwards the server's replies to the client, except those that a fault drops,
// until either side closes the connection. A connection that has lost a reply is mute,
// because its later replies would answer other requests than the client expects.
func (l *link) replies() {
	defer close(l.replyDropped)
	defer l.closeAfterDelayed()
	buffer := make([]byte, 32<<10)
	for mute, lossCounted := false, false; ; {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		if l.dropReply.CompareAndSwap(true, false) {
			l.replyDropped <- true
			continue
		}
		if l.losing.Load() {
			if !lossCounted {
				l.proxy.lost.Add(1)
			}
			lossCounted = true
			continue
		}
		if l.proxy.cutCountdown.Add(-1) == 0 {
			return
		}
		if mute = mute || l.proxy.loseAll.Load(); mute {
			continue
		}
		if err := l.forward(buffer[:n]); err != nil {
			return
		}
	}
}

// closeAfterDelayed closes the connection once its delayed replies are sent.
func (l *link) closeAfterDelayed() {
	if l.delayed == nil {
		l.close()
		return
	}
	close(l.delayed) // sendDelayed closes the connection
}

// forward sends a reply to the client. If the proxy delays replies, forward returns before
// the reply is sent, and a goroutine sends the connection's delayed replies in order.
func (l *link) forward(reply []byte) error {
	delay := time.Duration(l.proxy.replyDelay.Load())
	if l.delayed == nil && delay == 0 {
		_, err := l.client.Write(reply)
		return err
	}
	if l.delayed == nil {
		l.delayed = make(chan delayedReply, maxDelayed)
		go l.sendDelayed()
	}
	l.delayed <- delayedReply{bytes.Clone(reply), time.Now().Add(delay)}
	return nil
}

// maxDelayed is the largest number of delayed replies of a connection. At this number, the
// proxy stops reading from the server.
const maxDelayed = 10_000

// A delayedReply is a reply, and the time at which to send it.
type delayedReply struct {
	reply []byte
	at    time.Time
}

// sendDelayed sends the delayed replies of the connection, each at its time, until forward
// gets no more of them. Then it closes the connection.
func (l *link) sendDelayed() {
	defer l.close()
	for d := range l.delayed {
		time.Sleep(time.Until(d.at))
		if _, err := l.client.Write(d.reply); err != nil {
			l.close() // so that replies ends; the loop drops the replies that are left
		}
	}
}
