package testserver

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A Stall holds up what a MariaDB server writes to its redo log. The server
// shows a commit to others before that has been written: what it shows during a
// stall is gone when it is killed before the end of it.
type Stall struct {
	t    testing.TB
	file string
}

//go:embed testdata/stall.c
var stallSource []byte

// StallingMariaDB starts a MariaDB server with a redo log that can be held up.
// It needs Linux, and a C compiler: where there is none, the test is skipped, or
// fails if GORMFLAKE_TEST_REQUIRE names cc.
func StallingMariaDB(t testing.TB, settings ...string) (*Server, *Stall) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("testserver: only Linux has what holds up a server's writes")
	}
	stall := &Stall{t, filepath.Join(t.TempDir(), "stall")}
	stalling := *mariadb
	stalling.env = []string{"LD_PRELOAD=" + build(t, t.TempDir(), "stall", stallSource), "GORMFLAKE_STALL=" + stall.file}
	return start(t, &stalling, settings), stall
}

// Begin holds up all writes from now on.
func (s *Stall) Begin() {
	s.t.Helper()
	if err := os.WriteFile(s.file, nil, 0o600); err != nil {
		s.t.Errorf("testserver: %v", err)
	}
}

// End lets them through. A stall that has ended stays as it is.
func (s *Stall) End() {
	s.t.Helper()
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("testserver: %v", err)
	}
}
