package clock

import "time"

// Agreement is how long the wall clock must have kept a time beyond the limit
// before that time is believed.
const Agreement = time.Minute

// maxApart is how far the difference of the clocks may change in that time, in addition
// to a thousandth of it, because the clocks may run at slightly different rates.
const maxApart = time.Second

// ahead observes a wall clock that is further ahead than the limit.
type ahead struct {
	seen  bool
	since time.Duration // elapsed time when the agreement began
	skew  time.Duration // wall minus elapsed time at that moment
	wall  time.Duration // since the epoch, at the last comparison
	steps time.Duration // sum of the steps forward; see follow
}

// agrees reports whether the difference between the wall clock and the elapsed time has
// stayed the same for [Agreement]. It compares with the beginning of the agreement only,
// so that two comparisons suffice, however far apart they are. If there is no beginning
// yet, or if the difference has changed, an agreement begins with this comparison.
func (a *ahead) agrees(wall, elapsed time.Duration) bool {
	passed, skew := elapsed-a.since, wall-elapsed
	if !a.seen || (skew-a.skew).Abs() > maxApart+passed/1000 {
		a.seen, a.since, a.skew = true, elapsed, skew
		return false
	}
	return passed >= Agreement
}

// follow returns the elapsed time if it must be derived from the wall clock. A clock
// that is read rarely moves in large steps. Steps forward count as time passing, unless
// they are above the limit.
func (a *ahead) follow(wall, limit time.Duration) time.Duration {
	if step := wall - a.wall; a.seen && step > 0 && step <= limit {
		a.steps += step
	}
	a.wall = wall
	return a.steps
}
