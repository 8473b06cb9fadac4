// Package terminal is what all commands print alike: lines, errors, durations, and
// the exit codes.
package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Say writes a line. Standard output keeps the first error, and package cli reports
// it; nobody can be told of one of standard error.
func Say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

// SayJSON writes the value in lines that are indented.
func SayJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Flush writes what standard output keeps back, and returns its first error.
func Flush(out io.Writer) error {
	if buffer, ok := out.(interface{ Flush() error }); ok {
		return buffer.Flush()
	}
	return nil
}

// OneLine makes a line of an error that may be joined of several, and shows
// what a terminal would act on.
func OneLine(err error) string {
	if errors.Is(err, ErrFindings) {
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

// IsTerminal reports whether the stream, or the one that it is a buffer of, is a
// terminal.
func IsTerminal(stream any) bool {
	f, ok := file(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

func file(stream any) (*os.File, bool) {
	if buffer, ok := stream.(interface{ Stream() io.Writer }); ok {
		stream = buffer.Stream()
	}
	f, ok := stream.(*os.File)
	return f, ok
}

// Width is how many characters fit into a line of the stream, or of the one that it
// is a buffer of; 0 if that is not a terminal, or too narrow for words.
func Width(stream any) int {
	const narrowest = 40
	f, ok := file(stream)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < narrowest {
		return 0
	}
	return width
}

// Wrap breaks a line between words, before width, and indents what follows. A width
// of 0 leaves it as it is.
func Wrap(line string, width, indent int) string {
	var b strings.Builder
	used, empty := 0, true
	for i, word := range strings.SplitAfter(line, " ") {
		n := utf8.RuneCountInString(strings.TrimSuffix(word, " "))
		if i > 0 && !empty && width > 0 && used+n > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		}
		b.WriteString(word)
		used += utf8.RuneCountInString(word)
		empty = empty && strings.TrimSpace(word) == ""
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
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

// A Colour is how a terminal is told of one (ECMA-48, SGR).
type Colour string

// The colours.
const (
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Cyan   Colour = "\x1b[36m"
)

const plain = "\x1b[0m"

// A Painter colours text, or leaves it as it is.
type Painter bool

// PainterOf colours what is written to a terminal, unless NO_COLOR is set
// (https://no-color.org) or the terminal says that it is dumb.
func PainterOf(out io.Writer) Painter {
	return Painter(IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Paint returns the text in the colour.
func (p Painter) Paint(c Colour, text string) string {
	if !p {
		return text
	}
	return string(c) + text + plain
}

// A Reader returns from a Read that lasts once the context has ended. The goroutine
// that still waits for what In has ends with the process.
type Reader struct {
	Ctx context.Context
	In  io.Reader
}

func (r Reader) Read(p []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	got := make(chan answer, 1)
	go func() {
		n, err := r.In.Read(p)
		got <- answer{n, err}
	}()
	select {
	case a := <-got:
		return a.n, a.err
	case <-r.Ctx.Done(): // p is not touched again
		return 0, errors.New("interrupted")
	}
}

// The exit codes, for scripts.
const (
	ExitOK       = 0
	exitFailed   = 1 // an error, which standard error states
	exitUsage    = 2 // the command line is wrong; nothing was done
	exitFindings = 3 // the command worked, and what it found wants action

	// exitInterrupted is what a shell reports for a program that SIGINT has ended.
	exitInterrupted = 130

	// ExitPipe is what a shell reports for a program that SIGPIPE has ended.
	ExitPipe = 141
)

// A usageError is a mistake in the command line.
type usageError struct{ error }

// Usage makes err a mistake in the command line, unless it is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Usagef is Usage of an error of [fmt.Errorf].
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

func (e usageError) Unwrap() error { return e.error }

// ErrFindings ends the command with the code for findings, and no line of its own:
// what there is to say is in the output.
var ErrFindings = errors.New("findings")

// An interruption is the end of a command by Ctrl-C or SIGTERM.
type interruption struct {
	error
	changed string
}

func (i interruption) Error() string { return "interrupted; " + i.changed }
func (i interruption) Unwrap() error { return i.error }

// An ending is an error of a command that ends in its own way when it is asked to.
type ending struct{ error }

func (e ending) Unwrap() error { return e.error }

// Ended returns an error that [Interrupted] leaves as it is, for a command such as serve,
// whose usual end is SIGTERM.
func Ended(err error) error {
	if err == nil {
		return nil
	}
	return ending{err}
}

// Interrupted returns err, or if ctx has ended an error that states what the command has
// changed until then, unless err states it already.
func Interrupted(ctx context.Context, err error, changed string) error {
	var known interruption
	var ended ending
	if err == nil || ctx.Err() == nil || ExitCode(err) != exitFailed || errors.As(err, &known) || errors.As(err, &ended) {
		return err
	}
	return interruption{err, changed}
}

// ExitCode is the code for an error of a command.
func ExitCode(err error) int {
	var usage usageError
	var interrupted interruption
	switch {
	case errors.As(err, &interrupted):
		return exitInterrupted
	case errors.Is(err, ErrFindings):
		return exitFindings
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
}
