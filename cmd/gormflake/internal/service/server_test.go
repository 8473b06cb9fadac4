package service_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
)

// listen serves on a free port, by a server that NewServer returns, and returns the address.
func listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := service.NewServer(open(t, fixedGenerator(t)), 5*time.Second, quietLog())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// dial opens a connection that fails after a minute.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// send writes a request and returns the status of the answer, and whether the server closes
// the connection.
func send(t *testing.T, conn net.Conn, request string) (status int, closed bool) {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Close
}

// So that large requests do not fill its memory, the server reads at most about 12 KiB of
// header, and no body. If the field closed is true, the server must close the connection after
// the answer. If it is false, the test does not check that.
func TestSizeOfRequests(t *testing.T) {
	t.Parallel()
	address := listen(t)
	const line, host = "GET /v1/ids HTTP/1.1\r\n", "Host: x\r\n"
	for _, test := range []struct {
		name, request string
		status        int
		closed        bool
	}{
		{"plain", line + host + "\r\n", 200, false},
		{"a header of 6 KiB", line + host + "X: " + strings.Repeat("x", 6<<10) + "\r\n\r\n", 200, false},
		{"a header of 16 KiB", line + host + "X: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", 431, true},
		{"many headers", line + host + strings.Repeat("X: y\r\n", 4000) + "\r\n", 431, true},
		{"a long address", "GET /v1/ids?count=" + strings.Repeat("1", 16<<10) + " HTTP/1.1\r\n" + host + "\r\n", 431, true},
		{"a body", line + host + "Content-Length: 5\r\n\r\nhello", 400, true},
		{"a body to come", line + host + "Content-Length: 1000000000000\r\n\r\n", 400, true},
		{"a body in chunks", line + host + "Transfer-Encoding: chunked\r\n\r\n", 400, true},
		{"a post", "POST /v1/ids HTTP/1.1\r\n" + host + "Content-Length: 1000000000000\r\n\r\n", 405, false},
		{"no host", line + "\r\n", 400, true},
		{"nonsense", "hello\r\n\r\n", 400, true},
	} {
		status, closed := send(t, dial(t, address), test.request)
		if status != test.status || test.closed && !closed {
			t.Errorf("%s: %d, closed %v, want %d, %v", test.name, status, closed, test.status, test.closed)
		}
	}
}

// Clients that send a request slowly do not delay other clients, and are disconnected
// when the time for a header is over.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	address := listen(t)
	var slow []net.Conn
	for range 200 {
		conn := dial(t, address)
		if _, err := io.WriteString(conn, "GET /v1/ids HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	if status, _ := send(t, dial(t, address), "GET /v1/ids HTTP/1.1\r\nHost: x\r\n\r\n"); status != http.StatusOK {
		t.Errorf("with slow clients: %d", status)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			for _, conn := range slow {
				_, _ = conn.Write([]byte("x"))
			}
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	for i, conn := range slow {
		// The server answers 408 or nothing, and then closes or resets the connection.
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("slow client %d is still connected", i)
		}
	}
}
