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

// pauseAfter is before the next attempt, after so many that have failed and one more.
func pauseAfter(failed int) time.Duration {
	longest := min(firstPause<<min(failed, 10), longestPause)
	return longest/2 + rand.N(longest/2)
}
