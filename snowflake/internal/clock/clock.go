// Package clock keeps the time of a generator. It does not depend on IDs.
//
// A [Clock] returns logical time, which starts at the wall clock and runs with the
// monotonic clock. [Clock.Compare] compares logical time with the wall clock. Compare follows
// a step forward at once, unless the step is larger than the limit. In that case the wall
// clock must first keep its new time for [Agreement]. Compare only reports a step back,
// and the caller decides whether logical time may follow it, by [Clock.Follow].
//
// The caller marks a comparison that it accepts as trusted for [MaxUncompared]. During
// that time an ID needs one reading of the monotonic clock and none of the wall clock.
// [Clock.Due] reports whether that time is over. [Clock.Reconfirm] renews the trust without
// the lock if the wall clock has not stepped. [Clock.Sleep] waits for a tick to come.
//
// Elapsed time is the reading of the monotonic clock since the start. The offset is the
// wall clock minus logical time. A scripted clock is one that a test supplies instead of
// the machine's.
package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Reading returns both clocks at one instant: the wall clock, and the time since some
// start, which never goes back.
type Reading func() (wall time.Time, elapsed time.Duration)

// MaxUncompared is the time for which a comparison with the wall clock is trusted. A
// step of the wall clock, or a suspension of the machine, may be unnoticed for this
// time. It is this long because a comparison takes about as long as the rest of the
// work for an ID. In a program that makes an ID every 30 ms, fewer than one in ten IDs
// should need a comparison.
const MaxUncompared = time.Second

// Config configures a [Clock].
type Config struct {
	Epoch   time.Time     // of logical time
	Tick    time.Duration // ticks are counted from the epoch
	MaxJump time.Duration // the largest step forward that is followed at once

	Wall func() time.Time // replaces the machine's wall clock; elapsed time is then derived from it
	Read Reading          // replaces both clocks

	NeverTrust bool // compare the clocks at every call, as a scripted clock always does
}

// neverTrusted is the value of trusted of a clock whose comparisons are never trusted.
const neverTrusted = -1

// A Clock returns logical time, base + elapsed, counted from the epoch. All methods may
// be called concurrently. The caller of some of them must hold the lock.
type Clock struct {
	// The fields that an ID needs come first, so that they share a cache line. base,
	// trusted and offset are atomic, because calls that issue IDs load them without the
	// lock. base and offset only change under the lock. Reconfirm changes trusted without the
	// lock, and may thereby undo a Distrust. Even then the trust ends MaxUncompared after the
	// reading of Reconfirm, so that a step goes unnoticed for MaxUncompared at most.
	base    atomic.Int64 // logical time at elapsed zero, in nanoseconds since the epoch
	trusted atomic.Int64 // elapsed time until which the last comparison is trusted, or neverTrusted
	Tick    uint64       // length of a tick in nanoseconds
	Start   time.Time    // on the machine's clock; elapsed time is [time.Since] Start

	epoch     time.Time
	epochUnix int64        // nanoseconds
	offset    atomic.Int64 // wall minus logical time at the last comparison; changes under the lock

	// Uncompared is how long a comparison is trusted, normally MaxUncompared. Skewed is
	// nil, except in tests. Tests set both before the clock is used.
	Uncompared time.Duration
	Skewed     func() time.Duration // returns the error of the wall clock; see Skew

	Scripted bool // not the machine's clock; compared at every call, and read each millisecond of a wait
	maxJump  time.Duration
	wallOnly bool    // elapsed time is derived from the wall clock, because Config.Wall is given
	Read     Reading // reads both clocks
	wakeup   wakeup

	sync.Mutex               // held to compare the clocks, and to move logical time
	jump       jumpObserver  // guarded by the lock
	comparedAt time.Duration // elapsed time of the last comparison; guarded by the lock

	stepsBack       atomic.Uint64
	largestStepBack atomic.Int64
}

// A wakeup wakes all callers that wait for a tick. One of them, the leader, sleeps and
// reads the clock. The other callers sleep until the leader broadcasts. If every caller read
// the clock, the callers would use as much CPU as if they were spinning.
type wakeup struct {
	mu   sync.Mutex
	done chan struct{} // closed by the leader; nil if there is no leader
	due  time.Duration // when the leader will broadcast, in elapsed time
}

// Init starts the clock, at a logical time that is the wall clock's time. The clock must not be
// copied afterwards.
func (c *Clock) Init(config Config) {
	c.epoch = config.Epoch
	c.epochUnix = config.Epoch.UnixNano()
	c.Tick = uint64(config.Tick)
	c.Start = time.Now()
	c.Uncompared = MaxUncompared
	c.Scripted = config.Wall != nil || config.Read != nil
	if c.Scripted || config.NeverTrust {
		c.trusted.Store(neverTrusted)
	}
	c.Read = config.Read
	c.maxJump = config.MaxJump
	switch {
	case c.Read != nil: // the function of the config
	case config.Wall != nil:
		c.wallOnly = true
		c.Read = deriveElapsed(config.Wall, 20*config.Tick) // snowflake.WithClock documents the 20 ticks
	default:
		c.Read = c.readMachine
	}
	wall, elapsed := c.Read()
	c.base.Store(int64(wall.Sub(c.epoch) - elapsed)) // so that base + elapsed is the wall clock's time
}

// readMachine reads both clocks of the machine by one call of time.Now, so that they belong
// together. Round(0) removes the monotonic reading from the wall clock.
func (c *Clock) readMachine() (wall time.Time, elapsed time.Duration) {
	now := time.Now()
	return now.Round(0).Add(c.Skew()), now.Sub(c.Start)
}

// Skew returns the error that a test adds to the machine's wall clock, to simulate a wrong or
// stepping clock. Outside of tests it is zero.
func (c *Clock) Skew() time.Duration {
	if c.Skewed == nil {
		return 0
	}
	return c.Skewed()
}

// deriveElapsed returns a Reading that derives elapsed time from the wall clock, which the
// function wall reads. A test or a source supplies such a clock, so there is no monotonic clock.
// If the wall clock has moved forward since the last reading by the duration small or less,
// this much time has passed. A larger step forward, and a step back, is a step of the clock, in
// which no time passes. After a step back by small or less, no time passes until the wall clock
// has made up for the step.
func deriveElapsed(wall func() time.Time, small time.Duration) Reading {
	var (
		mu      sync.Mutex
		last    = wall()
		behind  time.Duration // sum of the steps back that have not been made up for
		elapsed time.Duration
	)
	return func() (time.Time, time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now := wall()
		step := now.Sub(last)
		last = now
		switch {
		case step < 0 || step > small: // a step of the clock
			behind = max(0, behind-step)
		case behind > small: // after a large step back, time runs with the clock
			elapsed += step
		default: // after a small step back, time stands still until the clock has made up for it
			elapsed += max(0, step-behind)
			behind = max(0, behind-step)
		}
		return now, elapsed
	}
}

// elapsed returns the time since the clock's start. On the machine's clock it reads only the
// monotonic clock, which takes less time than c.Read.
func (c *Clock) elapsed() time.Duration {
	if c.Scripted {
		_, elapsed := c.Read()
		return elapsed
	}
	return time.Since(c.Start)
}

// A Moment is one reading of a clock.
type Moment struct {
	Logical time.Duration // logical time, since the epoch
	elapsed time.Duration // elapsed time at the same instant
}

// Now returns the present moment. It does not read the machine's wall clock.
func (c *Clock) Now() Moment {
	base, elapsed := time.Duration(c.base.Load()), c.elapsed()
	return Moment{base + elapsed, elapsed}
}

// TickAt returns the tick of a logical time. A time before the epoch is in tick zero.
func (c *Clock) TickAt(logical time.Duration) uint64 { return uint64(max(0, logical)) / c.Tick }

// Until returns how long it takes, by logical time, until the tick begins. The result is negative
// if the tick has begun before.
func (c *Clock) Until(tick uint64) time.Duration {
	if tick > math.MaxInt64/c.Tick { // the start of the tick is beyond the range of a Duration
		return math.MaxInt64
	}
	return time.Duration(tick*c.Tick) - c.Now().Logical
}
