package testserver

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

//go:embed testdata/clock.c
var clockSource []byte

// SetClock sets the server's wall clock from the server's next start on. The clock is then
// ahead of the machine's clock by the duration, in whole seconds, or behind it if the duration
// is negative. SetClock works for PostgreSQL, MariaDB, MySQL and Redis, and needs Linux and a C
// compiler. If there is no compiler, the test is skipped, or fails if GORMFLAKE_TEST_REQUIRE
// names cc. It does not use Debian's libfaketime, which does not work for Redis, because Redis'
// memory allocator reads the time before that library is ready.
func (s *Server) SetClock(ahead time.Duration) {
	s.t.Helper()
	if runtime.GOOS != "linux" {
		s.t.Skip("testserver: only Linux has what changes a server's clock")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock == "" {
		s.clock = build(s.t, s.dir, "clock", clockSource) // in a folder that the server's account can read
	}
	s.env = []string{"LD_PRELOAD=" + s.clock, fmt.Sprintf("GORMFLAKE_CLOCK=%d", ahead/time.Second)}
}

// build compiles a library to preload, and returns its path.
func build(t testing.TB, dir, name string, text []byte) string {
	t.Helper()
	compiler := Program(t, "cc")
	source, library := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	compile := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-O2", "-pthread", "-o", library, source, "-ldl")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("testserver: build %s.c: %v\n%s", name, err, out)
	}
	return library
}
