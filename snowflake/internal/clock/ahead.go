package clock

import "time"

// Agreement is how long the wall clock must have kept a time beyond the limit
// before that time is believed.
const Agreement = time.Minute

// maxApart is how far the clocks may move apart in that time, on top of a
// thousandth of it: they may run at slightly different rates.
const maxApart = time.Second

// ahead observes a wall clock that is further ahead than the limit.
type ahead struct {
	seen  bool
	since time.Duration // elapsed time when the agreement began
	skew  time.Duration // wall minus elapsed time, then
	wall  time.Duration // since the epoch, at the last comparison
	steps time.Duration // see follow
}

// believes reports whether the wall clock's time, which is ahead of logical time by
// the offset, is to be taken: it is within the limit, or the clocks have agreed on it
// for long enough.
func (c *Clock) believes(wall time.Time, elapsed, offset time.Duration) bool {
	if offset <= c.maxJump {
		c.ahead = ahead{}
		return true
	}
	since := wall.Sub(c.epoch)
	if c.wallOnly {
		elapsed = c.ahead.follow(since, c.maxJump)
	}
	return c.ahead.agrees(since, elapsed)
}

// agrees notes a comparison. The last one may be long ago: that the clocks
// agreed then and agree now is enough.
func (a *ahead) agrees(wall, elapsed time.Duration) bool {
	passed, skew := elapsed-a.since, wall-elapsed
	if !a.seen || (skew-a.skew).Abs() > maxApart+passed/1000 {
		a.seen, a.since, a.skew = true, elapsed, skew
		return false
	}
	return passed >= Agreement
}

// follow is the elapsed time where it must be derived from the wall clock. A
// clock that is read rarely moves in large steps: those forward count as time
// passing, unless they are further jumps.
func (a *ahead) follow(wall, limit time.Duration) time.Duration {
	if step := wall - a.wall; a.seen && step > 0 && step <= limit {
		a.steps += step
	}
	a.wall = wall
	return a.steps
}
