package clock

import "time"

// Agreement is how long the wall clock, after a jump ahead by more than Config.MaxJump,
// must have kept its new time before that time is believed.
const Agreement = time.Minute

// maxApart is how far the difference between wall clock and monotonic clock may change
// during an agreement, in addition to a thousandth of the time that has passed, because the
// clocks may run at slightly different rates.
const maxApart = time.Second

// A jumpObserver observes a wall clock that has jumped ahead by more than Config.MaxJump,
// until its new time is believed. An agreement is a time in which the wall clock and the
// monotonic clock have run at the same rate.
type jumpObserver struct {
	begun bool          // an agreement has begun
	since time.Duration // elapsed time when the agreement began
	skew  time.Duration // wall minus elapsed time at that moment
	wall  time.Duration // wall clock at the last comparison, since the epoch; for elapsedByWall
	steps time.Duration // sum of the steps forward; see elapsedByWall
}

// agrees reports whether the difference between the wall clock and the elapsed time has
// stayed the same for [Agreement]. wall is counted from the epoch. agrees compares with the
// beginning of the agreement only, so that two comparisons suffice, however far apart they are.
// If no agreement has begun yet, or if the difference has changed, an agreement begins with this
// comparison, and agrees returns false.
func (a *jumpObserver) agrees(wall, elapsed time.Duration) bool {
	passed, skew := elapsed-a.since, wall-elapsed
	if !a.begun || (skew-a.skew).Abs() > maxApart+passed/1000 {
		a.begun, a.since, a.skew = true, elapsed, skew
		return false
	}
	return passed >= Agreement
}

// elapsedByWall returns an elapsed time for agrees if there is no monotonic clock, because a test
// or a source supplies the wall clock. It is the sum of the steps forward of the wall clock since
// its jump, without steps larger than limit. A smaller step counts as time that has passed, even
// if it is hours, because a clock that is read rarely moves in large steps.
func (a *jumpObserver) elapsedByWall(wall, limit time.Duration) time.Duration {
	if step := wall - a.wall; a.begun && step > 0 && step <= limit {
		a.steps += step
	}
	a.wall = wall
	return a.steps
}
