package testserver_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// outcome is a test that only records how it would have ended.
type outcome struct {
	testing.TB
	text string
}

func (v *outcome) Helper() {}

func (v *outcome) Fatalf(format string, args ...any) {
	v.text = "failed: " + fmt.Sprintf(format, args...)
	panic(v)
}

func (v *outcome) Skipf(format string, args ...any) {
	v.text = "skipped: " + fmt.Sprintf(format, args...)
	panic(v)
}

// TestProgram checks that Program finds a program by its variable, and skips or fails a
// test whose program is missing.
func TestProgram(t *testing.T) {
	tests := []struct{ name, node, required, want string }{
		{"is there", os.Args[0], "node", os.Args[0]},
		{"is not there", "no-such-program", "chromium", "skipped: no node: install it, or name it by NODE"},
		{"is not there but required", "no-such-program", "mysql,node", "failed: testserver: GORMFLAKE_TEST_REQUIRE requires node"},
		{"unknown name", os.Args[0], "nod", `unknown name "nod": want a comma-separated list of`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NODE", test.node)
			t.Setenv("GORMFLAKE_TEST_REQUIRE", test.required)
			if got := program(t, "node"); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestProgramWithoutVariable checks that the variable ZSH is ignored, because oh-my-zsh
// sets it to its folder.
func TestProgramWithoutVariable(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("ZSH", os.Args[0])
	t.Setenv("GORMFLAKE_TEST_REQUIRE", "")
	if got, want := program(t, "zsh"), "skipped: no zsh: install it: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// program returns the path of a program, or how Program ended the test.
func program(t *testing.T, name string) (result string) {
	t.Helper()
	v := &outcome{TB: t}
	defer func() {
		if recover() != nil {
			result = v.text
		}
	}()
	return testserver.Program(v, name)
}
