// Package terminal is what all commands print alike: lines, errors, durations, and
// the exit codes.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"
)

// Say writes a line. Standard output keeps the first error, and package cli reports
// it; nobody can be told of one of standard error.
func Say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

// OneLine makes a line of an error that may be joined of several, and shows
// what a terminal would act on.
func OneLine(err error) string {
	var silent silentError
	if errors.As(err, &silent) {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		switch text := b.String(); {
		case line == "" || text == "":
		case strings.HasSuffix(text, ":") || strings.HasSuffix(text, "?"):
			b.WriteByte(' ')
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return strings.Map(Printable, b.String())
}

// Printable shows a control character as a question mark.
func Printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return '?'
	}
	return r
}

// IsTerminal reports whether the stream is a file that is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Quote shows enough of a text to find it again.
func Quote(s string) string {
	const enough = 64
	if len(s) > enough {
		return strconv.Quote(s[:enough]) + "…"
	}
	return strconv.Quote(s)
}

// Counted is a number with the word for what it counts.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
