package clock

import "time"

// readingNoise is how far the wall clock may seem behind although it has not stepped,
// because time passes between the readings of the two clocks. If it is further behind, it
// was stepped back.
const readingNoise = 50 * time.Microsecond

// Base returns logical time at elapsed zero.
func (c *Clock) Base() time.Duration { return time.Duration(c.base.Load()) }

// Trusts reports whether the last comparison is trusted at an elapsed time.
func (c *Clock) Trusts(elapsed time.Duration) bool { return int64(elapsed) < c.trusted.Load() }

// Due reports whether the clocks have to be compared again at the moment, because the last
// comparison is no longer trusted.
func (c *Clock) Due(at Moment) bool { return !c.Trusts(at.elapsed) }

// Trust marks the last comparison as trusted until it is MaxUncompared old. The caller
// holds the lock.
func (c *Clock) Trust() { c.trustUntil(c.comparedAt + c.Uncompared) }

// Distrust makes the next call compare the clocks.
func (c *Clock) Distrust() { c.trustUntil(0) }

// trustUntil sets the end of the trust, unless the clock's comparisons are never trusted.
func (c *Clock) trustUntil(elapsed time.Duration) {
	if c.trusted.Load() != neverTrusted {
		c.trusted.Store(int64(elapsed))
	}
}

// Reconfirm compares the clocks without the lock. If the wall clock has not stepped,
// and no offset is left of an earlier step, it marks the comparison as trusted, and
// returns the logical time and true.
func (c *Clock) Reconfirm() (logical uint64, ok bool) {
	if c.trusted.Load() == neverTrusted || c.offset.Load() != 0 {
		return 0, false
	}
	base, now := c.Base(), time.Now()
	elapsed, wall := now.Sub(c.Start), time.Duration(now.UnixNano()-c.epochUnix)+c.Skew()
	if logical = uint64(base + elapsed); logical-uint64(wall) >= uint64(readingNoise) {
		return 0, false // the wall clock is behind by the noise or more, or ahead, because then the unsigned difference is huge
	}
	c.trusted.Store(int64(elapsed + c.Uncompared))
	return logical, true
}

// Compare compares logical time with the wall clock, and returns the wall clock's time.
// It follows a step forward at once, or once the new time is believed, because the
// machine was suspended, or its clock was corrected. It only records a step back. It
// returns the remaining offset, which is negative if the wall clock is behind. The
// caller holds the lock.
func (c *Clock) Compare() (wall time.Time, offset time.Duration) {
	wall, elapsed, offset := c.measure()
	c.comparedAt = elapsed
	if c.believes(wall, elapsed, offset) && offset > 0 {
		c.base.Add(int64(offset))
		offset = 0
	}
	c.countStepBack(time.Duration(c.offset.Swap(int64(offset))), offset)
	return wall, offset
}

// measure reads both clocks. If they differ, it repeats the reading up to twice and
// returns the reading with the smallest offset, because the process may have been paused
// between the two clocks. The wall clock is read first, so that a pause can only make the
// wall clock seem behind. Therefore measure ignores a small negative offset, but no
// positive offset.
func (c *Clock) measure() (wall time.Time, elapsed, offset time.Duration) {
	for i := range 3 {
		w, e := c.Read()
		o := w.Sub(c.epoch) - time.Duration(c.base.Load()) - e
		if i == 0 || o.Abs() < offset.Abs() {
			wall, elapsed, offset = w, e, o
		}
		if c.Scripted || offset.Abs() < readingNoise {
			break
		}
	}
	if !c.Scripted && offset < 0 && -offset < readingNoise {
		return wall, elapsed, 0
	}
	return wall, elapsed, offset
}

// countStepBack counts a step back of at least a tick, which has changed the offset from
// before to now. A wall clock that was ahead before counts as one that agreed with
// logical time, so that its return is not a step back.
func (c *Clock) countStepBack(before, now time.Duration) {
	back := min(before, 0) - now
	if back < time.Duration(c.Tick) {
		return
	}
	c.stepsBack.Add(1)
	c.largestStepBack.Store(max(c.largestStepBack.Load(), int64(back)))
}

// Offset returns how far the wall clock was ahead of logical time at the last
// comparison. It is negative if the wall clock was behind.
func (c *Clock) Offset() time.Duration { return time.Duration(c.offset.Load()) }

// Follow moves logical time to the wall clock by the offset that Compare returned, and
// then calls commit, which makes the commits of calls fail that have read the time before.
// If commit returns false, Follow undoes the move. The caller holds the lock.
func (c *Clock) Follow(offset time.Duration, commit func() bool) {
	c.base.Add(int64(offset))
	if !commit() {
		c.base.Add(-int64(offset))
		return
	}
	c.offset.Store(0)
}

// StartAt moves logical time forward to a tick that the wall clock has not reached. The
// difference counts as a step back, because the wall clock is then behind as after one. The
// caller holds the lock.
func (c *Clock) StartAt(tick uint64) {
	lead := c.Until(tick)
	if lead <= 0 { // the tick has begun
		return
	}
	c.base.Add(int64(lead))
	c.Distrust()
	offset := time.Duration(c.offset.Add(-int64(lead)))
	c.countStepBack(offset+lead, offset) // the offset before and after the move
}

// StepsBack returns how often the wall clock has stepped back by at least a tick,
// and the largest of these steps.
func (c *Clock) StepsBack() (steps uint64, largest time.Duration) {
	return c.stepsBack.Load(), time.Duration(c.largestStepBack.Load())
}

// believes reports whether logical time may follow the wall clock, which is ahead by
// the offset. It may if the offset is at most MaxJump. Otherwise it may once the wall clock
// has kept its new time for [Agreement], compared with the monotonic clock.
func (c *Clock) believes(wall time.Time, elapsed, offset time.Duration) bool {
	if offset <= c.maxJump {
		c.jump = jumpObserver{}
		return true
	}
	since := wall.Sub(c.epoch)
	if c.wallOnly {
		elapsed = c.jump.elapsedByWall(since, c.maxJump)
	}
	return c.jump.agrees(since, elapsed)
}
