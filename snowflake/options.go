package snowflake

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// An Option changes a default of [New]. An option with an invalid argument makes New
// fail.
type Option interface{ apply(*config) error }

// optionFunc is an [Option] that is a function.
type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// config is the configuration of a generator. The options of New set it. adopt adds the layout
// and the clock of the source, and setPolicy the default policy.
type config struct {
	layout    Layout
	byDefault bool             // neither an option nor the source has chosen the layout
	wall      func() time.Time // of WithClock or of the source; nil is the machine's clock
	policy    *ClockPolicy     // of OnClockBackwards, or nil until setPolicy sets it
	lag       time.Duration    // of WithLag
	maxJump   time.Duration    // of WithMaxJump
	logical   bool             // WithLogicalTime is given
	start     SequenceStart    // of WithSequenceStart
	read      clock.Reading    // reads both clocks; only tests set it
}

// Defaults of OnClockBackwards for a fixed worker, and of WithMaxJump.
const (
	defaultTolerance = 2 * time.Second
	defaultMaxJump   = 30 * 24 * time.Hour
)

// newConfig returns the config that the options set. The error joins the errors of all options.
func newConfig(opts []Option) (config, error) {
	var c config
	err := option.Apply("snowflake", opts, func(opt Option) error { return opt.apply(&c) })
	err = errors.Join(err, c.checkLogicalTime())
	if c.maxJump == 0 { // no option has set it, because WithMaxJump(0) is an error
		c.maxJump = defaultMaxJump
	}
	return c, err
}

// checkLogicalTime returns an error if WithLogicalTime is given together with WithLag or
// OnClockBackwards. These two options would have no effect, because under WithLogicalTime the
// generator does not follow the clock.
func (c *config) checkLogicalTime() error {
	var names []string
	if c.lag > 0 {
		names = append(names, "WithLag")
	}
	if c.policy != nil {
		names = append(names, "OnClockBackwards")
	}
	if !c.logical || len(names) == 0 {
		return nil
	}
	return fmt.Errorf("snowflake: %s with WithLogicalTime, which does not follow the clock: remove one of them", strings.Join(names, ", "))
}

// adopt takes the clock and the layout from the source, if the source has them. It returns an
// error if the source has a clock and an option gives one too, or if an option gives another
// layout than the source. If neither gives a layout, adopt sets the default layout.
func (c *config) adopt(src WorkerSource) error {
	if wall := src.Clock(); wall != nil {
		if c.wall != nil {
			return errors.New("snowflake: WithClock with a source that has its own clock: give the clock to the source")
		}
		c.wall = wall
	}
	hasLayout, sourceLayout := c.layout != Layout{}, src.Layout()
	switch {
	case sourceLayout != Layout{} && hasLayout && !c.layout.Equal(sourceLayout):
		return fmt.Errorf("snowflake: WithLayout(%v) conflicts with the source's layout %v: remove the option", c.layout, sourceLayout)
	case sourceLayout != Layout{}:
		c.layout = sourceLayout
	case !hasLayout:
		c.layout, c.byDefault = TwitterLayout(), true
	}
	return c.layout.Validate()
}

// setPolicy sets the clock policy if no option has set it. The default depends on the grant. A
// fixed worker has no window, so only the policy limits how far IDs run ahead of the clock
// after a step back. Under any other grant the window limits how far IDs run ahead, so the
// default policy tolerates every step back. setPolicy rejects WithLogicalTime under a fixed
// worker, because nothing would limit how far IDs run ahead.
func (c *config) setPolicy(g *Grant) error {
	if c.logical && g.fixed {
		return errors.New("snowflake: WithLogicalTime on a fixed worker: its ticks could run ahead of the clock without bound; take a lease, whose window bounds them")
	}
	if c.policy == nil {
		tolerance := Tolerate(defaultTolerance)
		if !g.fixed {
			tolerance = Tolerate(math.MaxInt64)
		}
		c.policy = &tolerance
	}
	return nil
}

// WithLayout sets the layout. The default is the source's layout if it has one,
// and [TwitterLayout] otherwise.
func WithLayout(layout Layout) Option {
	return optionFunc(func(c *config) error {
		c.layout = layout
		return layout.Validate()
	})
}

// WithClock replaces the wall clock, which is [time.Now] by default, so that a test can
// control the time. The generator reads the clock at every call, and does not use the
// machine's monotonic clock. It takes a step forward of up to 20 ticks as time that has
// passed, and a larger step forward as a step of the clock. The clock policy applies to a
// step back of a tick or more. After a tolerated step back of up to 20 ticks, the
// generator's time stands still until the clock has made up for the step. After a larger
// tolerated step back, the generator's time runs on at the rate of the clock, and stays ahead
// of it. With WithClock a fixed worker also issues IDs in the tick in which the process was
// started, which it does not do on the machine's clock; see [Static].
func WithClock(now func() time.Time) Option {
	return optionFunc(func(c *config) error {
		if now == nil {
			return errors.New("snowflake: WithClock(nil): want a clock")
		}
		c.wall = now
		return nil
	})
}

// OnClockBackwards sets the policy while the wall clock is behind the last ID after a
// step back. The default is Tolerate(2 * time.Second) for a fixed worker. Under a
// source that grants windows the default tolerates any step, which the windows make
// safe.
func OnClockBackwards(policy ClockPolicy) Option {
	return optionFunc(func(c *config) error {
		if policy.max < 0 {
			return fmt.Errorf("snowflake: OnClockBackwards limit %v: want at least 0", policy.max)
		}
		c.policy = &policy
		return nil
	})
}

// WithLag lets IDs be up to lag old. The unused sequence numbers of that time then
// serve bursts and small steps back of the clock without waiting. IDs never run ahead
// of the clock. The generator never uses sequence numbers from before its start, which a
// previous process may have used. The lag is rounded up to whole ticks. The default is zero.
func WithLag(lag time.Duration) Option {
	return optionFunc(func(c *config) error {
		if lag < 0 {
			return fmt.Errorf("snowflake: WithLag(%v): want at least 0", lag)
		}
		c.lag = lag
		return nil
	})
}

// WithMaxJump limits a single step forward of the wall clock. The default is 30 days,
// longer than a suspended machine sleeps. After a larger step calls fail with
// [ErrClockJumped], because IDs from the far future cannot be taken back. This ends
// when the clock is back within the limit or its new time is believed.
//
// The generator believes the new time, and follows it like any step forward, when the
// clock has kept it for one minute. During this minute each comparison with the
// monotonic clock must show the same difference, give or take a second and a thousandth
// of the time that has passed. A larger difference starts the minute again. Calls
// compare the clocks, and so does [Grant.Now]. Two calls a minute or more apart
// suffice, and the second call believes the time. Under [WithClock] the generator uses no
// monotonic clock. There, after the jump, the clock must have moved forward by a minute,
// in steps of at most limit and without a step back.
//
// A lease follows the same clock with the same limit; see [Grant.Now].
func WithMaxJump(limit time.Duration) Option {
	return optionFunc(func(c *config) error {
		if limit <= 0 {
			return fmt.Errorf("snowflake: WithMaxJump(%v): want more than 0", limit)
		}
		c.maxJump = limit
		return nil
	})
}

// WithLogicalTime makes the generator ignore the clock after its start. The time in its
// IDs starts at the wall clock, and advances by a tick only when the sequence of a tick
// is used up. Calls then never wait for the clock, and IDs are as dense as possible.
//
// The option needs a source that grants windows. Under a fixed worker it is an error. It
// is also an error together with WithLag or OnClockBackwards, which would have no effect.
// [WithMaxJump] still limits the time that [Grant.Now] returns to the source. The
// generator itself continues through a jump, within its window.
func WithLogicalTime() Option {
	return optionFunc(func(c *config) error {
		c.logical = true
		return nil
	})
}

// WithSequenceStart sets where the sequence of a tick starts. The default is
// [StartRandom].
func WithSequenceStart(start SequenceStart) Option {
	return optionFunc(func(c *config) error {
		if start != StartRandom && start != StartZero {
			return fmt.Errorf("snowflake: WithSequenceStart(%d): want StartRandom or StartZero", int(start))
		}
		c.start = start
		return nil
	})
}

// A ClockPolicy decides whether a generator continues, waits or fails while the wall
// clock is behind its last ID after a step back. Under every policy, IDs are unique and
// rise. [Fail], [Wait] and [Tolerate] make a policy for [OnClockBackwards]. The zero
// value is Fail().
//
// A step back is over once the wall clock has overtaken the last ID. If the generator has
// been idle for longer than the step, it is over at once. The policy does not apply to a step
// back of less than a tick, because IDs may be ahead of the clock by that much.
type ClockPolicy struct {
	max  time.Duration // the largest step back under which calls do not fail
	wait bool          // calls wait, and do not continue ahead of the clock
}

// Fail returns a policy under which calls fail with [ErrClockBackwards] until the step
// back is over.
func Fail() ClockPolicy { return ClockPolicy{} }

// Wait returns a policy under which calls wait until a step back of up to limit is
// over, and fail after a larger one. [Generator.TryNext] fails instead of waiting.
func Wait(limit time.Duration) ClockPolicy { return ClockPolicy{max: limit, wait: true} }

// Tolerate returns a policy under which calls continue after a step back of up to limit,
// and fail after a larger one. The time in the IDs is then ahead of the wall clock by the
// size of the step back. Under a fixed worker keep the limit small, because after a restart
// the next process cannot know how far ahead this process was.
func Tolerate(limit time.Duration) ClockPolicy { return ClockPolicy{max: limit} }

// A SequenceStart is the sequence number at which a tick starts, for
// [WithSequenceStart].
type SequenceStart int

const (
	// StartRandom starts each tick at a random number of the lower half of the
	// sequence, or at 0 if the previous tick was used up. The low bits of the keys are
	// then evenly spread at any rate, so that sharding by key works. A tick with a
	// random start still has at least half of its sequence, and a saturated generator
	// uses whole ticks. The numbers are a hash of the tick, the worker and a random
	// number of each generator. The hash is not a cipher, so IDs are hard to guess but
	// not secret. This is the default.
	StartRandom SequenceStart = iota

	// StartZero starts each tick at 0, like the classic generators. At low rates all
	// keys then end in zero bits and fall into one shard.
	StartZero
)

// randomBits returns how many low bits of a tick's first sequence number are random. It is 0
// for StartZero. For StartRandom it is one less than the bits of the sequence, so that the
// number is in the lower half of the sequence.
func (s SequenceStart) randomBits(sequenceBits uint8) uint8 {
	if s == StartZero {
		return 0
	}
	return max(1, sequenceBits) - 1 // 0 for a layout without a sequence
}
