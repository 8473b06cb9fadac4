package engine

import "time"

// Tries are the attempts at what needs a lock that others hold.
type Tries struct {
	Limit time.Duration // from the first that fails on
	Count int           // that have failed

	begun time.Time
}

// Failed counts one more, and reports whether there is time for another after a pause.
func (t *Tries) Failed(pause time.Duration) bool {
	if t.Count == 0 {
		t.begun = time.Now()
	}
	t.Count++
	return time.Since(t.begun)+pause < t.Limit
}
