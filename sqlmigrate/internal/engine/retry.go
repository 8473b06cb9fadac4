package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tries counts the attempts at a statement that needs a lock which other sessions hold.
type Tries struct {
	Limit time.Duration // the time for all attempts, from the first failure on
	Count int           // the number of failed attempts

	begun time.Time // the time of the first failure
}

// Failed counts a failed attempt, and reports whether there is time for a pause and
// another attempt.
func (t *Tries) Failed(pause time.Duration) bool {
	if t.Count == 0 {
		t.begun = time.Now()
	}
	t.Count++
	return time.Since(t.begun)+pause < t.Limit
}

// Sleep waits for d. If ctx ends first, it returns the cause of ctx.
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

// WithCause returns err, wrapped with the cause of ctx if ctx has ended. It is needed
// because a driver whose context has ended may report a bad connection instead, even for
// the next statement.
func WithCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}
