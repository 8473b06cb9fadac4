package testserver_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// echo starts a server that sends every line back. It returns the server's address, and the
// lines that the server receives.
func echo(t *testing.T) (address string, lines <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	received := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for scanner := bufio.NewScanner(conn); scanner.Scan(); {
					received <- scanner.Text()
					_, _ = fmt.Fprintln(conn, scanner.Text())
				}
			}()
		}
	}()
	return listener.Addr().String(), received
}

// TestProxyLosesSome checks a proxy that loses the reply to each marked request. The server
// must receive the request, and its client must get no reply. A request without the mark,
// earlier on the same connection, must be answered.
func TestProxyLosesSome(t *testing.T) {
	t.Parallel()
	address, received := echo(t)
	proxy := testserver.NewProxy(t, address)
	proxy.LoseSome("write", 1, 50*time.Millisecond)
	const requests = 6
	for range requests {
		conn, err := net.Dial("tcp", proxy.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		answers := bufio.NewReader(conn)
		_, _ = fmt.Fprintln(conn, "read")
		if answer, err := answers.ReadString('\n'); err != nil || answer != "read\n" {
			t.Fatalf("answer to a request without the mark = %q, %v, want it", answer, err)
		}
		<-received
		_, _ = fmt.Fprintln(conn, "a write")
		if answer, err := answers.ReadString('\n'); err == nil || answer != "" {
			t.Errorf("answer to a request with the mark = %q, %v, want a connection that is closed", answer, err)
		}
		if got := <-received; got != "a write" {
			t.Errorf("the server has received %q, want the request", got)
		}
	}
	// A slow machine may close a connection before its reply has arrived.
	if got := proxy.Lost(); got < 1 || got > requests {
		t.Errorf("Lost = %d, want 1 to %d", got, requests)
	}
}

// TestProxyRepeatsSome checks that the server receives every second marked request twice,
// and that its client gets only one reply.
func TestProxyRepeatsSome(t *testing.T) {
	t.Parallel()
	address, received := echo(t)
	proxy := testserver.NewProxy(t, address)
	proxy.RepeatSome("write", 2)
	conn, err := net.Dial("tcp", proxy.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, request := range []struct {
		text  string
		times int
	}{{"read", 1}, {"first write", 1}, {"second write", 2}, {"read", 1}, {"third write", 1}, {"fourth write", 2}} {
		_, _ = fmt.Fprintln(conn, request.text)
		if answer, err := answers.ReadString('\n'); err != nil || answer != request.text+"\n" {
			t.Errorf("answer to %q = %q, %v, want one that is the request", request.text, answer, err)
		}
		for range request.times {
			if got := <-received; got != request.text {
				t.Errorf("the server has received %q, want %q %d times", got, request.text, request.times)
			}
		}
	}
	if proxy.Repeated() != 2 {
		t.Errorf("Repeated = %d, want 2", proxy.Repeated())
	}
}
