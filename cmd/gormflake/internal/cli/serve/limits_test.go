//go:build linux

package serve_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// Clients that request large blocks and never read them do not exhaust the memory, and do
// not block other clients.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	const limit = 256 << 20 // the default, which allows 2,048 connections
	i := startService(t, clitest.Build(t), "--worker", "21", "--max-count", "1000000")
	t.Cleanup(i.kill)
	for range 64 {
		leaveUnread(t, i.url, 1_000_000)
	}
	for range 1500 {
		leaveUnread(t, i.url, 10_000)
	}
	// Other clients get their IDs meanwhile.
	for range 20 {
		if a, err := fetch(i.url, "/v1/ids"); err != nil || len(a.ids(t)) != 1 {
			t.Errorf("one ID: %v, %d %s", err, a.status, a.text)
		}
		time.Sleep(100 * time.Millisecond)
	}
	const itself = 40 << 20 // the program's text, libraries and runtime, for which --max-memory does not account
	if peak := peakMemory(t, i.command.Process.Pid); peak > limit+itself {
		t.Errorf("%d MiB at most resident, want %d", peak>>20, (limit+itself)>>20)
	} else {
		t.Logf("%d MiB at most resident", peak>>20)
	}
	// The service closes the connections of clients that do not read, and then issues large
	// blocks again.
	fetchUntil(t, i.url, "/v1/ids?count=1000000", func(a answer) bool { return a.status == 200 && len(a.ids(t)) == 1_000_000 })
}

// leaveUnread sends a request and never reads the answer. The connection stays open and has a
// small buffer.
func leaveUnread(t *testing.T, url string, count int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /v1/ids?count=%d HTTP/1.1\r\nHost: localhost\r\n\r\n", count); err != nil {
		t.Fatal(err)
	}
}

// peakMemory returns the peak of a process's resident memory in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmHWM in\n%s", status)
	}
	kilobytes, err := strconv.Atoi(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
