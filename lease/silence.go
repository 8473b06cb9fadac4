package lease

import "time"

// silence knows since when the records have not changed: a live holder raises
// its bound every third of a window.
type silence map[int]sighting

type sighting struct {
	record Record
	since  time.Time
}

// of notes what the records are now, and returns a test for holders that have
// been silent for two windows.
func (s silence) of(used []candidate, window time.Duration) func(candidate) bool {
	now := time.Now()
	for _, c := range used {
		if s[c.key].record != c.record {
			s[c.key] = sighting{c.record, now}
		}
	}
	return func(c candidate) bool { return now.Sub(s[c.key].since) >= 2*window }
}
