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

// Say writes a line. It ignores errors. Standard output has a buffer, which keeps the first
// error until package cli reports it, and an error of standard error cannot be reported
// anywhere.
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

// Flush writes the buffered part of the output, and returns the first error of all writes.
// It does nothing for a writer without a buffer.
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
		case line == "" || text == "": // no separator is needed
		case strings.HasSuffix(text, ":") || strings.HasSuffix(text, "?"):
			b.WriteByte(' ') // the next line continues the sentence
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return strings.Map(Printable, b.String())
}

// Printable returns a question mark for a control character, on which a terminal would act,
// and any other character unchanged. It is the mapping of [strings.Map].
func Printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 { // C0, DEL and C1
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

// Width returns the number of characters in a line of the terminal. It returns 0, which means
// that lines are not wrapped, if neither the stream nor the stream under its buffer is a
// terminal, and if the terminal has fewer than 40 characters in a line.
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

// Wrap breaks a line between words into lines of at most width characters, unless a word is
// too long for that. It indents all lines but the first by indent spaces. It does not break
// the line within the spaces at its beginning. If width is 0, it does not change the line.
func Wrap(line string, width, indent int) string {
	var b strings.Builder
	column, onlySpaces := 0, true // the length of the present line; whether no word was written yet
	// Each word has the space that follows it. If several spaces follow a word, each further
	// space is a word of its own.
	for i, word := range strings.SplitAfter(line, " ") {
		n := utf8.RuneCountInString(strings.TrimSuffix(word, " "))
		if i > 0 && !onlySpaces && width > 0 && column+n > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		}
		b.WriteString(word)
		column += utf8.RuneCountInString(word)
		onlySpaces = onlySpaces && strings.TrimSpace(word) == ""
	}
	return strings.ReplaceAll(b.String(), " \n", "\n") // the last word before a break has a space
}

// Quote returns a text in quotes for an error. Of a text with more than 64 bytes it returns
// the first 64, and "…" behind the quotes.
func Quote(s string) string {
	const longest = 64
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "…"
	}
	return strconv.Quote(s)
}

// Counted returns the number with the singular or the plural of its unit, for example
// "1 row" and "2 rows".
func Counted(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
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

// A Painter colours text if it is true, and leaves text as it is if it is false.
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

// A Reader reads from In, and its Read returns an error when Ctx ends. Ctrl-C could
// otherwise not end a command that waits for input, because a read from a terminal or pipe
// cannot be interrupted.
type Reader struct {
	Ctx context.Context
	In  io.Reader
}

// Read reads in a goroutine of its own. After the end of Ctx, the goroutine waits for In
// until the process ends, so the caller must not use p any more.
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

// ErrFindings is the error of a command that worked and found something that needs action,
// as doctor and vet do. It has the exit code for findings. It is not printed, because the
// output already has the findings.
var ErrFindings = errors.New("findings")

// An interruption is the error of a command that Ctrl-C or SIGTERM has ended. Its text
// consists of "interrupted" and the field changed.
type interruption struct {
	error
	changed string // the changes that the command has made, for example "nothing was changed"
}

func (i interruption) Error() string { return "interrupted; " + i.changed }
func (i interruption) Unwrap() error { return i.error }

// An ending is an error by which a command such as serve fails while it ends. Ctrl-C or
// SIGTERM is the usual end of such a command, so the error is not an interruption.
type ending struct{ error }

func (e ending) Unwrap() error { return e.error }

// Ended marks err so that [Interrupted] returns it as it is, and the exit code is 1. Commands
// such as serve call it, because their usual end is SIGTERM. It returns nil if err is nil.
func Ended(err error) error {
	if err == nil {
		return nil
	}
	return ending{err}
}

// Interrupted returns the error with which a command ends. If ctx has ended, the command was
// interrupted, and the error has the text changed, for example "2 of 5 workers were
// released", in place of the text of err. Otherwise, and for errors that keep their own
// text, it returns err.
func Interrupted(ctx context.Context, err error, changed string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	// A mistake in the command line, findings, and an error that an earlier call of
	// Interrupted has returned have another exit code, and keep it. An ending has exitFailed
	// too, but keeps its text, because SIGTERM is the usual end of its command.
	var ended ending
	if ExitCode(err) != exitFailed || errors.As(err, &ended) {
		return err
	}
	return interruption{err, changed}
}

// ExitCode returns the exit code for an error of a command. err must not be nil.
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
