package terminal

import (
	"errors"
	"fmt"
)

// The exit codes, for scripts.
const (
	ExitOK       = 0
	exitFailed   = 1 // an error, which standard error states
	exitUsage    = 2 // the command line is wrong; nothing was done
	exitFindings = 3 // the command worked, and what it found wants action

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

// ExitCode is the code for an error of a command.
func ExitCode(err error) int {
	var usage usageError
	switch {
	case errors.Is(err, ErrFindings):
		return exitFindings
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
}
