package sqllease

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A slowError is the error of a statement that was not answered within its time.
type slowError struct {
	statement string
	after     time.Duration // how long the store has waited
	cause     error
}

func (e *slowError) Error() string {
	return fmt.Sprintf("no answer within %v to %s: %v", e.after.Round(time.Millisecond), e.brief(), e.cause)
}

func (e *slowError) Unwrap() error { return e.cause }

// brief returns the beginning of the statement, in one line.
func (e *slowError) brief() string {
	const most = 60
	text := strings.Join(strings.Fields(e.statement), " ")
	if len(text) > most {
		text = text[:most] + " ..."
	}
	return text
}

// asSlowError returns err, the error of a statement that was sent at the time began. If ctx
// has ended, it wraps err in a slowError with the statement and the time since began.
func asSlowError(ctx context.Context, statement string, began time.Time, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return &slowError{statement, time.Since(began), err}
}

// A waitError is the error of a call whose context has ended while it waited.
type waitError struct {
	text  string // why the call had to wait
	cause error  // why the context has ended, by context.Cause
}

func (e *waitError) Error() string { return e.text + ": " + e.cause.Error() }
func (e *waitError) Unwrap() error { return e.cause }
