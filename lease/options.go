package lease

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/internal/podname"
	"github.com/gormflake/gormflake/snowflake"
)

// An Option changes a default of [Acquire]. An option with a bad argument makes
// Acquire fail.
type Option interface{ apply(*config) error }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

type config struct {
	layout      snowflake.Layout
	window      time.Duration
	settle      time.Duration
	maxAhead    time.Duration
	maxSkew     time.Duration
	clock       func() time.Time
	log         *slog.Logger
	datacenter  *int64
	one         bool // WithWorker
	ranged      bool // WithWorkers
	first, last int64
	random      func(n int64) int64 // in [0, n); a simulation replaces it
}

const (
	defaultWindow = time.Minute
	defaultSkew   = time.Hour
	minWindow     = 10 * time.Millisecond
	maxWindow     = 24 * time.Hour
	maxSettle     = 2 * maxWindow

	// maxCall bounds one call of the store: an outage of up to two thirds of
	// the default window less this halts nobody.
	maxCall = 5 * time.Second
)

// CheckOptions returns the error that [Acquire] returns for the layout and the
// options before it asks a store, which joins all mistakes in them, or nil.
func CheckOptions(layout snowflake.Layout, opts ...Option) error {
	_, err := newConfig(layout, opts)
	return err
}

// newConfig applies all options to the defaults, so that one run shows every
// mistake.
func newConfig(layout snowflake.Layout, opts []Option) (config, error) {
	if err := layout.Validate(); err != nil {
		return config{}, err
	}
	c := config{layout: layout, window: defaultWindow, maxSkew: defaultSkew, log: slog.Default(), last: workers(layout) - 1, random: rand.Int64N}
	err := option.Apply("lease", opts, func(opt Option) error { return opt.apply(&c) })
	return c, errors.Join(err,
		option.Check(!c.one || !c.ranged, "lease: WithWorker together with WithWorkers: leave one of them out"),
		option.Check(c.window >= 3*layout.Tick, "lease: WithWindow(%v): want at least three ticks of %v", c.window, layout.Tick))
}

// timeout bounds one call of the store.
func (c *config) timeout() time.Duration { return min(maxCall, max(c.window/3, maxCall/10)) }

// patience is how long a process that starts, or releases a worker, waits for a
// connection, which the store may have to inspect.
func (c *config) patience() time.Duration { return 4 * c.timeout() }

// WithWindow sets for how long a worker is reserved ahead, in one write that is
// repeated every third of it. The store may be down for two thirds of the window,
// less 5 seconds that a call may take, without anybody noticing. A process that was
// killed leaves its worker unusable for up to a window. The default is a minute; 10ms
// to 24h are possible, and no less than three ticks of the layout.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < minWindow || d > maxWindow {
			return fmt.Errorf("lease: WithWindow(%v) out of range [%v, %v]", d, minWindow, maxWindow)
		}
		c.window = d
		return nil
	})
}

// WithSettle waits that long after taking a worker, and writes once more, before the
// first ID is issued. Give a window, or more, on a store that can forget acknowledged
// writes, such as a Redis with asynchronous replicas: by then the holder by a
// forgotten write has reached the end of its own window, or has found out. This relies
// on clocks that are roughly right, and on nobody running ahead of them
// ([WithMaxAhead], [snowflake.WithLogicalTime]). Less than a window protects from
// little, and is logged as a warning. The default is zero, the most 48 hours.
func WithSettle(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.settle = d
		return option.Check(d >= 0 && d <= maxSettle, "lease: WithSettle(%v) out of range [0s, %v]", d, maxSettle)
	})
}

// WithMaxAhead lets [Acquire] take a worker whose bound is up to d ahead of the clock
// if no other is free. The generator then runs that far ahead, and its IDs are that
// much younger than they should be. It serves a restart with the clock set back, or
// soon after a crash on the only worker. A worker that was released goes first, then
// the one with the lowest bound: a holder that is alive loses it, stops at once, and
// fails until another worker is free. The default is zero: never.
func WithMaxAhead(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.maxAhead = d
		return option.Check(d >= 0, "lease: WithMaxAhead(%v): want at least 0", d)
	})
}

// WithMaxSkew bounds how far the clock may be ahead of the store's, where that is a
// [Clock]. [Acquire] refuses a clock that is further ahead, because its bound would
// block the worker for everybody else until then, and nothing takes that back. Once a
// worker is acquired, the clock is refused only if it is as far ahead of what the
// store's clock would show had it run on since the two last agreed; otherwise it is the
// store's that is wrong, which is logged as a warning. [WithMaxAhead] is measured from
// the clock that passed. The default is an hour.
func WithMaxSkew(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.maxSkew = d
		return option.Check(d > 0, "lease: WithMaxSkew(%v): want more than 0", d)
	})
}

// WithClock replaces the wall clock, which is [time.Now] by default, for the
// lease and for the generator that it serves. See [snowflake.WithClock].
func WithClock(now func() time.Time) Option {
	return optionFunc(func(c *config) error {
		c.clock = now
		return option.Check(now != nil, "lease: WithClock(nil): want a clock")
	})
}

// WithDatacenter takes workers of that datacenter only. The default is all of
// the layout's datacenters, or datacenter 0 under [WithWorker].
func WithDatacenter(n int64) Option {
	return optionFunc(func(c *config) error {
		c.datacenter = &n
		return inRange("WithDatacenter", "datacenter", n, datacenters(c.layout))
	})
}

// WithWorker leases exactly worker n, for hosts that are already numbered. The lease
// adds mutual exclusion and a high-water mark: two processes that are given the number
// by mistake never issue at the same time, and a restart begins above the last tick of
// the previous process. After a crash the worker is free once its bound has passed, in
// up to a window; see [WithMaxAhead].
func WithWorker(n int64) Option {
	return optionFunc(func(c *config) error {
		c.one, c.first, c.last = true, n, n
		return inRange("WithWorker", "worker", n, workers(c.layout))
	})
}

// WithWorkers takes one of the workers first to last, both included, of each
// datacenter. The default is all that the layout has.
func WithWorkers(first, last int64) Option {
	return optionFunc(func(c *config) error {
		c.ranged, c.first, c.last = true, first, last
		return errors.Join(
			option.Check(first <= last, "lease: WithWorkers(%d, %d): want the smaller number first", first, last),
			inRange("WithWorkers", "worker", first, workers(c.layout)),
			inRange("WithWorkers", "worker", last, workers(c.layout)))
	})
}

// WithLogger sets where changes of state are logged: a worker acquired, lost,
// fenced, released, the store failing and answering again. Nothing is logged
// per ID or per extension. The default is [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "lease: WithLogger(nil): want a logger")
	})
}

func inRange(name, what string, n, count int64) error {
	return option.Check(n >= 0 && n < count, "lease: %s: %s %d out of range [0, %d] of the layout", name, what, n, count-1)
}

// datacenterVariable is the one that [snowflake.FromEnv] reads too.
const datacenterVariable = "SNOWFLAKE_DATACENTER_ID"

// WithStatefulSetWorker is [WithWorker] with the ordinal that ends the host name:
// pod web-7 of a Kubernetes StatefulSet leases worker 7, also if its host name
// has a domain. A host name without an ordinal, or with one that the layout
// cannot hold, is an error. Other host names that end in -<number>, such as
// ip-10-0-3-17, cannot be distinguished from a pod's: use it in StatefulSets only.
//
// The datacenter is the one of [WithDatacenter], or of the environment variable
// SNOWFLAKE_DATACENTER_ID, or 0 if neither is given. Two StatefulSets that share
// a store need different datacenters: their pods have the same ordinals, and wait
// for each other's workers otherwise. A variable that is set and is not a number
// of the layout is an error.
func WithStatefulSetWorker() Option {
	return optionFunc(func(c *config) error {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("lease: WithStatefulSetWorker: host name: %w", err)
		}
		return c.setStatefulSetWorker(host)
	})
}

// setStatefulSetWorker leaves a datacenter that [WithDatacenter] has set.
func (c *config) setStatefulSetWorker(host string) error {
	worker, err := podname.Ordinal(host)
	if err != nil {
		return fmt.Errorf("lease: WithStatefulSetWorker: %w", err)
	}
	c.one, c.first, c.last = true, worker, worker
	err = inRange("WithStatefulSetWorker", "worker", worker, workers(c.layout))
	text, set := os.LookupEnv(datacenterVariable)
	if err != nil || !set || c.datacenter != nil {
		return err
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("lease: WithStatefulSetWorker: %s=%q: want a number", datacenterVariable, text)
	}
	datacenter := int64(n)
	c.datacenter = &datacenter
	return inRange("WithStatefulSetWorker: "+datacenterVariable, "datacenter", datacenter, datacenters(c.layout))
}
