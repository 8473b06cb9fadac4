package sqlmigrate

import (
	"math/rand/v2"
	"time"
)

const (
	// The pauses between attempts. What has waited behind an attempt goes
	// ahead in the first moment of each.
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
)

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
