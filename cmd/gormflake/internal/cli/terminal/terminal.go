// Package terminal has the output that all commands share, which are lines, errors,
// durations and colours, and the exit codes.
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

// Say writes a line. It ignores errors, because standard output stores its first error
// for package cli, and an error of standard error cannot be reported anywhere.
func Say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

// SayJSON writes the value as indented JSON.
func SayJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Flush writes the buffered part of the output, and returns the first error of the
// output.
func Flush(out io.Writer) error {
	if buffer, ok := out.(interface{ Flush() error }); ok {
		return buffer.Flush()
	}
	return nil
}

// OneLine returns the text of err, which may consist of several errors, as a single line,
// with semicolons between the errors. It replaces control characters, on which a terminal
// would act. It returns "" for [ErrFindings].
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

// Printable replaces a control character by a question mark.
func Printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return '?'
	}
	return r
}

// IsTerminal reports whether the stream, or the stream under its buffer, is a terminal.
func IsTerminal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// fileOf returns the file that the stream is or, if it has a buffer, to which the buffer is
// written.
func fileOf(stream any) (*os.File, bool) {
	if buffer, ok := stream.(interface{ Stream() io.Writer }); ok {
		stream = buffer.Stream()
	}
	f, ok := stream.(*os.File)
	return f, ok
}

// Width returns the number of characters in a line of the terminal. It returns 0 if the
// stream, or the stream under its buffer, is not a terminal, or is too narrow for words.
func Width(stream any) int {
	const narrowest = 40
	f, ok := fileOf(stream)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < narrowest {
		return 0
	}
	return width
}

// Wrap breaks a line between words before width, and indents the following lines. It does
// not break the line within the spaces at its beginning. If width is 0, it does not change
// the line.
func Wrap(line string, width, indent int) string {
	var b strings.Builder
	column, blank := 0, true // characters in the present line; whether no word was written yet
	for i, word := range strings.SplitAfter(line, " ") {
		n := utf8.RuneCountInString(strings.TrimSuffix(word, " "))
		if i > 0 && !blank && width > 0 && column+n > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		}
		b.WriteString(word)
		column += utf8.RuneCountInString(word)
		blank = blank && strings.TrimSpace(word) == ""
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// Quote returns a text in quotes. It cuts a long text.
func Quote(s string) string {
	const enough = 64
	if len(s) > enough {
		return strconv.Quote(s[:enough]) + "…"
	}
	return strconv.Quote(s)
}

// Counted returns the number with a word for its unit, which is one in the singular and
// many in the plural.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// A Colour is an SGR escape sequence (ECMA-48).
type Colour string

// The colours.
const (
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Cyan   Colour = "\x1b[36m"
)

// resetColour ends a colour.
const resetColour = "\x1b[0m"

// A Painter colours text if it is true.
type Painter bool

// PainterOf returns a Painter that colours if out is a terminal, unless NO_COLOR is set
// (https://no-color.org) or the terminal is dumb.
func PainterOf(out io.Writer) Painter {
	return Painter(IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Paint returns the text in the colour.
func (p Painter) Paint(c Colour, text string) string {
	if !p {
		return text
	}
	return string(c) + text + resetColour
}

// A Reader is a reader whose Read returns when the context ends, because a read from a
// terminal or pipe cannot be interrupted. The goroutine that still waits for In then ends
// with the process.
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
	case <-r.Ctx.Done(): // from now on, the goroutine's result is ignored
		return 0, errors.New("interrupted")
	}
}

// The exit codes, for scripts.
const (
	ExitOK       = 0
	exitFailed   = 1 // an error, which standard error states
	exitUsage    = 2 // a mistake in the command line; the command did not start
	exitFindings = 3 // the command worked and found something that needs action

	// exitInterrupted is the code that a shell reports for a program that SIGINT ended.
	exitInterrupted = 130

	// ExitPipe is the code that a shell reports for a program that SIGPIPE ended.
	ExitPipe = 141
)

// A usageError is a mistake in the command line.
type usageError struct{ error }

// Usage marks err as a mistake in the command line. It returns nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Usagef returns Usage of an error of [fmt.Errorf].
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

func (e usageError) Unwrap() error { return e.error }

// ErrFindings ends a command with the exit code for findings. It has no line of its own,
// because the output already has the findings.
var ErrFindings = errors.New("findings")

// An interruption is the end of a command by Ctrl-C or SIGTERM. changed says which changes
// the command has made until then.
type interruption struct {
	error
	changed string
}

func (i interruption) Error() string { return "interrupted; " + i.changed }
func (i interruption) Unwrap() error { return i.error }

// An ending is an error of a command that usually ends because its context ends, such as
// serve.
type ending struct{ error }

func (e ending) Unwrap() error { return e.error }

// Ended marks err so that [Interrupted] does not turn it into an interruption. Commands
// such as serve call it, because their usual end is SIGTERM.
func Ended(err error) error {
	if err == nil {
		return nil
	}
	return ending{err}
}

// Interrupted returns err or, if ctx has ended, an error that says which changes the
// command has made until then. It returns err if err already says so, or if err has an
// exit code of its own, such as that of a mistake in the command line.
func Interrupted(ctx context.Context, err error, changed string) error {
	var known interruption
	var ended ending
	if err == nil || ctx.Err() == nil || ExitCode(err) != exitFailed || errors.As(err, &known) || errors.As(err, &ended) {
		return err
	}
	return interruption{err, changed}
}

// ExitCode returns the exit code for an error of a command.
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
