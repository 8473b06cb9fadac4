package snowflake

import (
	"fmt"
	"time"
)

const (
	// agreement is how long the wall clock must have kept a time beyond the
	// limit before that time is believed.
	agreement = time.Minute

	// maxApart is how far the clocks may move apart in that time, on top of a
	// thousandth of it: they may run at slightly different rates.
	maxApart = time.Second
)

// ahead observes a wall clock that is further ahead than [WithMaxJump] allows.
type ahead struct {
	seen  bool
	since time.Duration // elapsed time when the agreement began
	skew  time.Duration // wall minus elapsed time, then
	wall  time.Duration // since the epoch, at the last comparison
	steps time.Duration // see follow
}

// believes reports whether the wall clock's time is to be taken: it is within
// the limit, or the clocks have agreed on it for long enough.
func (k *clock) believes(wall time.Time, elapsed, offset time.Duration) bool {
	if offset <= k.maxJump {
		k.ahead = ahead{}
		return true
	}
	since := wall.Sub(k.epoch)
	if k.wallOnly {
		elapsed = k.ahead.follow(since, k.maxJump)
	}
	return k.ahead.agrees(since, elapsed)
}

// agrees notes a comparison. The clocks may have been compared long ago: that
// they agreed then and agree now is enough.
func (a *ahead) agrees(wall, elapsed time.Duration) bool {
	passed, skew := elapsed-a.since, wall-elapsed
	if !a.seen || (skew-a.skew).Abs() > maxApart+passed/1000 {
		a.seen, a.since, a.skew = true, elapsed, skew
		return false
	}
	return passed >= agreement
}

// follow is the elapsed time where only the wall clock can tell it. The time of
// a clock that is read rarely moves in large steps: those forward count, except
// for further jumps.
func (a *ahead) follow(wall, limit time.Duration) time.Duration {
	if step := wall - a.wall; a.seen && step > 0 && step <= limit {
		a.steps += step
	}
	a.wall = wall
	return a.steps
}

// jumped is the error of a wall clock that was not believed when last compared.
func (k *clock) jumped() error {
	offset := time.Duration(k.offset.Load())
	if offset <= k.maxJump {
		return nil
	}
	return fmt.Errorf("%w %v ahead, more than WithMaxJump(%v): fix the clock; if it is right, it is believed once it has kept this time for %v", ErrClockJumped, offset, k.maxJump, agreement)
}
