package testserver

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// programs are what tests run that is no server.
var programs = []string{"chromium", "node"}

// Program returns the path of chromium or node. Where it is not on the PATH, the
// test is skipped, or fails if GORMFLAKE_TEST_REQUIRE names it. The variable
// CHROMIUM, or NODE, may name another one.
func Program(t testing.TB, name string) string {
	t.Helper()
	CheckRequired(t)
	variable := strings.ToUpper(name)
	path, err := exec.LookPath(cmp.Or(os.Getenv(variable), name))
	switch {
	case err == nil:
		return path
	case Required(name):
		t.Fatalf("testserver: %s requires %s: %v", requireVariable, name, err)
	}
	t.Skipf("no %s: install it, or name it by %s: %v", name, variable, err)
	return ""
}
