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

// Stall delays a MariaDB server's writes to its redo log. The server makes a commit
// visible before it has written the commit to the log. A commit that becomes visible
// during a stall is lost if the server is killed before the stall ends.
type Stall struct {
	t    testing.TB
	file string // exists during a stall, as testdata/stall.c reads it
}

//go:embed testdata/stall.c
var stallSource []byte

// StallingMariaDB starts a MariaDB server whose writes to the redo log can be delayed. It
// needs Linux and a C compiler. If there is no compiler, the test is skipped, or fails if
// GORMFLAKE_TEST_REQUIRE names cc.
func StallingMariaDB(t testing.TB, settings ...string) (*Server, *Stall) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("testserver: only Linux has what holds up a server's writes")
	}
	stall := &Stall{t: t, file: filepath.Join(t.TempDir(), "stall")}
	stalling := *mariadb
	stalling.env = []string{"LD_PRELOAD=" + build(t, t.TempDir(), "stall", stallSource), "GORMFLAKE_STALL=" + stall.file}
	return start(t, &stalling, settings), stall
}

// Begin delays all writes from now on.
func (s *Stall) Begin() {
	s.t.Helper()
	if err := os.WriteFile(s.file, nil, 0o600); err != nil {
		s.t.Errorf("testserver: %v", err)
	}
}

// End lets the delayed writes continue. It does nothing after the stall has ended.
func (s *Stall) End() {
	s.t.Helper()
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("testserver: %v", err)
	}
}
