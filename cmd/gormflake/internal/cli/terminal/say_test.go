package terminal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// Wrap breaks before the word that does not fit, and never within a word. The lines that
// follow are indented by 2.
func TestWrap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, line string
		width      int
		want       string
	}{
		{"not a terminal", "ok       clock     one two three", 0, "ok       clock     one two three"},
		{"fits", "ok       clock     one two", 26, "ok       clock     one two"},
		{"does not fit", "ok       clock     one two", 25, "ok       clock     one\n  two"},
		{"twice", "aa bb cc dd", 5, "aa bb\n  cc\n  dd"},
		{"long word", "aa bbbbbbbb cc", 5, "aa\n  bbbbbbbb\n  cc"},
		{"begins with spaces", "    aaaaaaa bb", 6, "    aaaaaaa\n  bb"},
		{"characters, not bytes", "éé éé", 5, "éé éé"},
		{"empty", "", 5, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := terminal.Wrap(test.line, test.width, 2); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The width of a file, and of a stream that is not a file, is 0.
func TestWidth(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, stream := range []any{file, &strings.Builder{}, nil} {
		if got := terminal.Width(stream); got != 0 {
			t.Errorf("the width of %T is %d, want 0", stream, got)
		}
	}
}
