package snowflake

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A reading is what both clocks show at one instant: the wall, and how much
// time has passed since some start, which never goes back.
type reading func() (wall time.Time, elapsed time.Duration)

// noise is how far the wall may be behind before that is put down to a step
// rather than to the moment between the two readings.
const noise = 50 * time.Microsecond

// maxPeriod is how long a step of the wall clock may go unnoticed where ticks
// are longer.
const maxPeriod = 10 * time.Millisecond

// A clock tells logical time: base + elapsed, counted from the layout's epoch.
type clock struct {
	epoch    time.Time
	tick     uint64 // nanoseconds
	period   uint64 // between two comparisons, in nanoseconds: a tick or an even part of it
	start    time.Time
	scripted bool
	read     reading
	maxJump  time.Duration
	wallOnly bool // elapsed time is derived from the wall clock
	alarm    alarm

	comparing sync.Mutex // held to change what follows
	ahead     ahead

	base     atomic.Int64  // logical time at elapsed zero, in nanoseconds since the epoch
	offset   atomic.Int64  // wall minus logical time when last compared; 0 after a step forward was taken
	compared atomic.Uint64 // the period of the last comparison

	stepsBack   atomic.Uint64
	largestBack atomic.Int64
}

func newClock(c config) *clock {
	k := &clock{
		epoch:    c.layout.Epoch,
		tick:     uint64(c.layout.Tick),
		period:   uint64(c.layout.Tick / (1 + (c.layout.Tick-1)/maxPeriod)),
		start:    time.Now(),
		scripted: c.wall != nil || c.read != nil,
		read:     c.read,
		maxJump:  c.maxJump,
	}
	switch {
	case k.read != nil:
	case c.wall != nil:
		k.wallOnly = true
		k.read = derived(c.wall, 20*c.layout.Tick)
	default:
		k.read = k.machine
	}
	wall, elapsed := k.read()
	k.base.Store(int64(wall.Sub(k.epoch) - elapsed))
	return k
}

// machine takes both readings from one call, so that they belong together.
func (k *clock) machine() (wall time.Time, elapsed time.Duration) {
	now := time.Now()
	return now.Round(0), now.Sub(k.start)
}

// derived makes the second reading from the wall clock alone. Small steps
// forward are time passing, unless they only make up for a small step back
// just before; anything larger is a step of the clock, in which no time has
// passed.
func derived(wall func() time.Time, small time.Duration) reading {
	var (
		mu      sync.Mutex
		last    = wall()
		behind  time.Duration
		elapsed time.Duration
	)
	return func() (time.Time, time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now := wall()
		step := now.Sub(last)
		last = now
		switch {
		case step < 0 || step > small:
			behind = max(0, behind-step)
		case behind > small:
			elapsed += step
		default:
			elapsed += max(0, step-behind)
			behind = max(0, behind-step)
		}
		return now, elapsed
	}
}

// elapsed is the cheap reading: the monotonic clock alone.
func (k *clock) elapsed() time.Duration {
	if k.scripted {
		_, elapsed := k.read()
		return elapsed
	}
	return time.Since(k.start)
}

// A moment is one reading of the clock.
type moment struct {
	elapsed time.Duration
	logical time.Duration // since the epoch, by the base of then
}

func (k *clock) moment() moment {
	base, elapsed := time.Duration(k.base.Load()), k.elapsed()
	return moment{elapsed, base + elapsed}
}

// now is the logical time since the epoch.
func (k *clock) now() time.Duration { return k.moment().logical }

func (k *clock) tickAt(logical time.Duration) uint64 { return uint64(max(0, logical)) / k.tick }

// until is how long it takes, by logical time, until the tick begins.
func (k *clock) until(tick uint64) time.Duration {
	if tick > math.MaxInt64/k.tick {
		return math.MaxInt64
	}
	return time.Duration(tick*k.tick) - k.now()
}

// due reports whether the caller is to compare the clocks in this period.
func (k *clock) due(logical time.Duration) bool {
	if k.scripted {
		return true
	}
	now, last := k.periodOf(logical), k.compared.Load()
	return last != now && k.compared.CompareAndSwap(last, now)
}

func (k *clock) periodOf(logical time.Duration) uint64 {
	return uint64(max(0, logical)) / k.period
}

// closes is the elapsed time at which the period of the moment ends. It is
// never more than a period from then: the base may have been moved since.
func (k *clock) closes(at moment) time.Duration {
	end := time.Duration((k.periodOf(at.logical) + 1) * k.period)
	return min(end-time.Duration(k.base.Load()), at.elapsed+time.Duration(k.period))
}

// compare holds logical time against the wall clock, whose time it returns. A
// step forward is taken at once, or once it is believed: the machine was
// suspended, or its clock was set right. A step back is only recorded; what
// remains is returned, negative where the wall is behind. The caller holds
// comparing.
func (k *clock) compare() (wall time.Time, offset time.Duration) {
	wall, elapsed, offset := k.measure()
	if k.believes(wall, elapsed, offset) && offset > 0 {
		k.base.Add(int64(offset))
		offset = 0
	}
	k.record(time.Duration(k.offset.Swap(int64(offset))), offset)
	return wall, offset
}

// measure repeats a suspicious reading: the process may have been paused
// between the two clocks. As the wall is read first, that makes it seem behind;
// that it is ahead is always true, and taken however little it is.
func (k *clock) measure() (wall time.Time, elapsed, offset time.Duration) {
	for i := range 3 {
		w, e := k.read()
		o := w.Sub(k.epoch) - time.Duration(k.base.Load()) - e
		if i == 0 || o.Abs() < offset.Abs() {
			wall, elapsed, offset = w, e, o
		}
		if k.scripted || offset.Abs() < noise {
			break
		}
	}
	if !k.scripted && offset < 0 && -offset < noise {
		return wall, elapsed, 0
	}
	return wall, elapsed, offset
}

func (k *clock) record(before, now time.Duration) {
	back := min(before, 0) - now
	if back < time.Duration(k.tick) {
		return
	}
	k.stepsBack.Add(1)
	k.largestBack.Store(max(k.largestBack.Load(), int64(back)))
}

// startAt moves logical time forward to a tick that the wall clock has not
// reached; the difference counts as a step back. The caller holds comparing.
func (k *clock) startAt(tick uint64) {
	lead := k.until(tick)
	if lead <= 0 {
		return
	}
	k.base.Add(int64(lead))
	offset := time.Duration(k.offset.Add(-int64(lead)))
	k.record(offset+lead, offset)
}
