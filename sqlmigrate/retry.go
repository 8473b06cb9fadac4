package sqlmigrate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	defaultRetryFor = 2 * time.Minute

	// The pauses between attempts. What has waited behind an attempt goes
	// ahead in the first moment of each.
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
)

// WithRetryFor limits for how long [Plan.Apply] and [Plan.Revert] try again after
// a statement has waited too long for a lock, see [WithLockTimeout], or was in a
// deadlock. The default is 2 minutes; zero means that the first such error is the
// last. Everything up to the lock is repeated, on MySQL and MariaDB the statement
// alone. In the pauses between attempts, which grow from a quarter of a second to
// 15 seconds, no lock is held, and what has waited goes ahead. [WithProgress] is
// told of each. The end of the context ends the attempts too.
func WithRetryFor(d time.Duration) ApplyOption {
	return applyOptionFunc(func(c *applyConfig) error {
		if d < 0 {
			return fmt.Errorf("WithRetryFor(%v): want zero or more", d)
		}
		c.retryFor = d
		return nil
	})
}

// retries are the attempts of one transaction.
type retries struct {
	limit time.Duration
	begun time.Time // of the first that has failed
	count int
	pause time.Duration // before the next one
}

func (c *applyConfig) retries() *retries { return &retries{limit: c.retryFor} }

// more is called after an attempt that has failed, and reports whether to try
// again.
func (r *retries) more() bool {
	if r.count == 0 {
		r.begun = time.Now()
	}
	longest := min(firstPause<<min(r.count, 10), longestPause)
	r.pause = longest/2 + rand.N(longest/2)
	r.count++
	return time.Since(r.begun)+r.pause < r.limit
}

func (r *retries) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.pause):
		return nil
	}
}
