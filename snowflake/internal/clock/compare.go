package clock

import "time"

// readingNoise is how far the wall clock may seem behind although it has not stepped,
// because time passes between the readings of the two clocks. If the wall clock is further
// behind, it was stepped back.
const readingNoise = 50 * time.Microsecond

// Base returns the logical time at the clock's start. Logical time is Base plus the elapsed time.
func (c *Clock) Base() time.Duration { return time.Duration(c.base.Load()) }

// Trusts reports whether the last comparison of the clocks is still trusted. elapsed is the
// present time since the clock's start.
func (c *Clock) Trusts(elapsed time.Duration) bool { return int64(elapsed) < c.trusted.Load() }

// Due reports whether the clocks have to be compared again, because the last comparison is no
// longer trusted at the moment at.
func (c *Clock) Due(at Moment) bool { return !c.Trusts(at.elapsed) }

// Trust marks the last comparison as trusted until it is [MaxUncompared] old, or as old as a test
// has set in c.Uncompared. The caller holds the lock.
func (c *Clock) Trust() { c.trustUntil(c.comparedAt + c.Uncompared) }

// Distrust makes the next call compare the clocks.
func (c *Clock) Distrust() { c.trustUntil(0) }

// trustUntil sets the elapsed time until which the last comparison is trusted. It does nothing if
// the clock's comparisons are never trusted.
func (c *Clock) trustUntil(elapsed time.Duration) {
	if c.trusted.Load() != neverTrusted {
		c.trusted.Store(int64(elapsed))
	}
}

// Reconfirm compares the clocks without the lock, in the common case that the wall clock has not
// stepped. It then marks the comparison as trusted, and returns the logical time and true. It
// returns false if the clocks differ, if an offset is left of an earlier step, or if comparisons
// are never trusted. The caller then has to call Compare.
func (c *Clock) Reconfirm() (logical uint64, ok bool) {
	if c.trusted.Load() == neverTrusted || c.offset.Load() != 0 {
		return 0, false
	}
	base, now := c.Base(), time.Now()
	elapsed, wall := now.Sub(c.Start), time.Duration(now.UnixNano()-c.epochUnix)+c.Skew()

	// Return false if the wall clock is behind by readingNoise or more. Also return false if the
	// wall clock is ahead, because the unsigned difference is then huge.
	if logical = uint64(base + elapsed); logical-uint64(wall) >= uint64(readingNoise) {
		return 0, false
	}
	c.trusted.Store(int64(elapsed + c.Uncompared))
	return logical, true
}

// Compare compares logical time with the wall clock, and returns the wall clock's time. If the
// wall clock is ahead, because the machine was suspended or its clock was corrected, Compare moves
// logical time to the wall clock. If the wall clock is ahead by more than MaxJump, Compare moves
// logical time only once the new time is believed. If the wall clock is behind, Compare records
// the step back and does not move logical time. offset is the wall clock minus logical time at
// the end of Compare. It is negative if the wall clock is behind. The caller holds the lock.
func (c *Clock) Compare() (wall time.Time, offset time.Duration) {
	wall, elapsed, offset := c.measure()
	c.comparedAt = elapsed
	if c.believes(wall, elapsed, offset) && offset > 0 { // believes comes first, because it records a jump
		c.base.Add(int64(offset))
		offset = 0
	}
	c.countStepBack(time.Duration(c.offset.Swap(int64(offset))), offset)
	return wall, offset
}

// measure reads both clocks, and returns the wall clock, the elapsed time, and the offset, which
// is the wall clock minus logical time. If the clocks differ, it repeats the reading up to twice
// and returns the reading with the smallest offset, because the process may have been paused
// between reading the two clocks. The wall clock is read first, so that a pause can only make
// the wall clock seem behind. Therefore measure returns 0 for a small negative offset, but not
// for a positive offset. It reads a scripted clock once, because a test sets exact times.
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

// countStepBack counts a step back of the wall clock of at least a tick. before and now are
// the offsets of the comparisons before and after the step. If before is positive, because the
// wall clock had jumped ahead, countStepBack uses 0 in its place, so that the end of the jump does
// not count as a step back.
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

// Follow moves logical time to the wall clock by the offset that Compare returned, which is a
// step back. Calls that have read the time before the move must not issue IDs with that time.
// Therefore Follow then calls commit, which makes such calls fail. If commit could not make them
// fail, it returns false, and Follow undoes the move. The caller holds the lock.
func (c *Clock) Follow(offset time.Duration, commit func() bool) {
	c.base.Add(int64(offset))
	if !commit() {
		c.base.Add(-int64(offset))
		return
	}
	c.offset.Store(0)
}

// StartAt moves logical time forward to the start of the tick, at which a new grant begins. It
// does nothing if the tick has begun. Afterwards the wall clock is behind logical time, as if it
// had stepped back, so StartAt counts a step back. The caller holds the lock.
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
// the offset. The answer is true if the offset is at most MaxJump, or negative. After a larger
// jump, the answer is true once the wall clock has run at the rate of the monotonic clock for
// [Agreement] since the jump. To know this, believes records each comparison in c.jump.
func (c *Clock) believes(wall time.Time, elapsed, offset time.Duration) bool {
	if offset <= c.maxJump {
		c.jump = jumpObserver{}
		return true
	}
	sinceEpoch := wall.Sub(c.epoch)
	if c.wallOnly { // there is no monotonic clock to compare with
		elapsed = c.jump.elapsedByWall(sinceEpoch, c.maxJump)
	}
	return c.jump.agrees(sinceEpoch, elapsed)
}
