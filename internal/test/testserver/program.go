package testserver

import (
	"cmp"
	"os"
	"os/exec"
	"testing"
)

// programs are the programs, apart from servers, that tests run.
var programs = []string{"chromium", "node", "bash", "zsh", "fish", "cc", "promtool"}

// variables may name another program than the one in PATH. The shells have no variable,
// because oh-my-zsh sets ZSH to a folder.
var variables = map[string]string{"chromium": "CHROMIUM", "node": "NODE", "cc": "CC"}

// Program returns the path of one of the programs. If it is neither in PATH nor named by
// its variable, the test is skipped, or fails if GORMFLAKE_TEST_REQUIRE names the
// program.
func Program(t testing.TB, name string) string {
	t.Helper()
	CheckRequired(t)
	variable := variables[name]
	path, err := exec.LookPath(cmp.Or(os.Getenv(variable), name))
	switch {
	case err == nil:
		return path
	case Required(name):
		t.Fatalf("testserver: %s requires %s: %v", requireVariable, name, err)
	case variable == "":
		t.Skipf("no %s: install it: %v", name, err)
	}
	t.Skipf("no %s: install it, or name it by %s: %v", name, variable, err)
	return ""
}
