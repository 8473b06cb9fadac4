// Package clock keeps the time of a generator, and knows nothing of its IDs.
//
// A [Clock] tells logical time. It starts at the wall clock and runs with the
// monotonic clock; [Clock.Compare] holds it against the wall clock about once
// per tick. It takes a step forward at once, unless the step is larger than the
// limit: then the wall clock must first keep its new time for [Agreement]. It
// only reports a step back, and the caller decides whether logical time may
// follow it; see [Clock.Follow]. [Clock.Sleep] waits for a tick to come.
//
// # The processor's counter
//
// Reading the clock is most of what an ID costs. On Linux on x86-64, [Count]
// reads the processor's time stamp counter instead, in a third of the time. With
// it an ID in a loop takes 10 ns, and 30 ns without; one every 5, 10 or 20 µs takes
// 20 ns instead of 40; from 50 µs on there is no difference. A burst within a lag
// takes a third of the time, and an ID at the cap half the CPU (AMD EPYC, Linux, Go
// 1.26.8; docs/benchmarks.md).
//
// A count is not a time. Its rate differs between processors, two processors
// need not agree, and a virtual machine that is moved or resumed may continue
// from any other count. So a count only ever answers whether the open tick may
// be over yet: a reading of the clock says how much of the tick is left, and as
// many counts as fit into that at two nanoseconds each, slower than any
// processor counts, may pass before the clock is read again ([TickEnd]). An ID
// comes sooner than that in a program that makes one every 20 µs or more often;
// in any other it saves nothing, so it is read only in a tick that has had more
// than one call.
//
// Uniqueness and order do not depend on it. If a count were wrong, an ID could
// show a time up to 10 ms old, or, for 10 ms after a machine was suspended, the time
// before that, and nothing else. The counter is not used where
// the processor does not call it invariant, where it counts too slowly (as an
// emulator's does), in a synctest bubble, whose time is not the machine's, under
// a scripted clock, and in a build with -tags purego.
package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Reading returns what both clocks show at one instant: the wall clock, and how
// much time has passed since some start, which never goes back.
type Reading func() (wall time.Time, elapsed time.Duration)

// maxPeriod is how long a step of the wall clock may go unnoticed where ticks
// are longer.
const maxPeriod = 10 * time.Millisecond

// Config configures a [Clock].
type Config struct {
	Epoch   time.Time     // of logical time
	Tick    time.Duration // ticks are counted from the epoch
	MaxJump time.Duration // the largest step forward that is taken at once

	Wall func() time.Time // replaces the machine's wall clock, from which elapsed time is then derived
	Read Reading          // replaces both clocks
}

// A Clock tells logical time, base + elapsed, counted from the epoch. All methods
// may be called concurrently, those that say so only with the clock locked.
type Clock struct {
	// What Agrees reads comes first, to be on few cache lines. Base and offset
	// change only under the lock.
	base      atomic.Int64 // logical time at elapsed zero, in nanoseconds since the epoch
	offset    atomic.Int64 // wall minus logical time when last compared; 0 after a step forward was taken
	tick      uint64       // nanoseconds
	epochUnix int64        // nanoseconds
	Start     time.Time    // on the machine's clock, elapsed time is [time.Since] Start
	Counter   Counter

	// Skewed is set by a test only, before the clock is used; see Skew.
	Skewed func() time.Duration

	epoch    time.Time
	period   uint64 // between two comparisons, in nanoseconds: a tick or an even part of it
	Scripted bool   // not the machine's clock: it is compared at every call, and never slept on for long
	maxJump  time.Duration
	wallOnly bool    // elapsed time is derived from the wall clock
	Read     Reading // of both clocks
	wakeup   wakeup

	sync.Mutex               // held to compare the clocks, and to move logical time
	ahead      ahead         // under the lock
	compared   atomic.Uint64 // the period of the last comparison

	stepsBack       atomic.Uint64
	largestStepBack atomic.Int64
}

// Init starts the clock, which is not to be copied after that.
func (c *Clock) Init(config Config) {
	c.epoch = config.Epoch
	c.epochUnix = config.Epoch.UnixNano()
	c.tick = uint64(config.Tick)
	c.period = uint64(config.Tick / (1 + (config.Tick-1)/maxPeriod))
	c.Start = time.Now()
	c.Counter = NewCounter(c.Start)
	c.Scripted = config.Wall != nil || config.Read != nil
	c.Read = config.Read
	c.maxJump = config.MaxJump
	switch {
	case c.Read != nil:
	case config.Wall != nil:
		c.wallOnly = true
		c.Read = derived(config.Wall, 20*config.Tick)
	default:
		c.Read = c.machine
	}
	wall, elapsed := c.Read()
	c.base.Store(int64(wall.Sub(c.epoch) - elapsed))
}

// machine takes both readings from one call, so that they belong together.
func (c *Clock) machine() (wall time.Time, elapsed time.Duration) {
	now := time.Now()
	return now.Round(0).Add(c.Skew()), now.Sub(c.Start)
}

// Skew returns how far a test puts the machine's wall clock off: zero, otherwise.
func (c *Clock) Skew() time.Duration {
	if c.Skewed == nil {
		return 0
	}
	return c.Skewed()
}

// derived derives elapsed time from the wall clock. A small step forward is time
// passing, unless it only makes up for a small step back just before; a larger
// one is a step of the clock, in which no time has passed.
func derived(wall func() time.Time, small time.Duration) Reading {
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
func (c *Clock) elapsed() time.Duration {
	if c.Scripted {
		_, elapsed := c.Read()
		return elapsed
	}
	return time.Since(c.Start)
}

// A Moment is one reading of a clock.
type Moment struct {
	Logical time.Duration // since the epoch, by the base of then
	elapsed time.Duration
}

// Now reads the clock.
func (c *Clock) Now() Moment {
	base, elapsed := time.Duration(c.base.Load()), c.elapsed()
	return Moment{base + elapsed, elapsed}
}

// TickAt returns the tick of a logical time.
func (c *Clock) TickAt(logical time.Duration) uint64 { return uint64(max(0, logical)) / c.tick }

// Until returns how long it takes, by logical time, until the tick begins.
func (c *Clock) Until(tick uint64) time.Duration {
	if tick > math.MaxInt64/c.tick {
		return math.MaxInt64
	}
	return time.Duration(tick*c.tick) - c.Now().Logical
}

// OpenFor returns how long a tick that the moment lies in may be issued from
// before the clocks are to be compared again: until its end, at most maxPeriod.
func (c *Clock) OpenFor(at Moment, tick uint64) time.Duration {
	return min(time.Duration(c.tick-(uint64(at.Logical)-tick*c.tick)), maxPeriod)
}
