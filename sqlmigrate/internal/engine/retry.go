package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tries limits the time for all attempts at work that needs a lock which other sessions
// hold, and counts the attempts that failed. The work is a statement, a step, or a round of
// batches.
type Tries struct {
	Limit time.Duration // the time for all attempts, from the first failure on
	Count int           // the number of failed attempts

	begun time.Time // the time of the first failure
}

// Failed counts a failed attempt, and reports whether the caller may make another attempt
// after a pause of this length, because the limit will not be reached by then.
func (t *Tries) Failed(pause time.Duration) bool {
	if t.Count == 0 {
		t.begun = time.Now()
	}
	t.Count++
	return time.Since(t.begun)+pause < t.Limit
}

// Sleep waits for d, and returns nil. If ctx ends first, it returns the cause of ctx. If d
// is not positive, it does not wait, and returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// WithCause returns err, and adds the cause of ctx if ctx has ended and err does not
// contain the cause. This is necessary because, after a context has ended, the error of a
// driver may only say that the connection is bad, and not that the user has canceled the
// context. MySQL's driver returns such an error even for the statement after the canceled
// statement.
func WithCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}
