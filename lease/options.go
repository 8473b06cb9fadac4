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

// An optionFunc is an Option that calls the function.
type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// config is the layout and the options of a lease.
type config struct {
	layout      snowflake.Layout
	window      time.Duration    // see WithWindow
	settle      time.Duration    // see WithSettle
	maxAhead    time.Duration    // see WithMaxAhead
	maxSkew     time.Duration    // see WithMaxSkew
	clock       func() time.Time // nil without WithClock
	log         *slog.Logger
	datacenter  *int64              // nil without WithDatacenter
	oneWorker   bool                // set by WithWorker
	workerRange bool                // set by WithWorkers
	first, last int64               // the workers that may be leased
	random      func(n int64) int64 // returns a number in [0, n); a simulation replaces it
}

const (
	defaultWindow = time.Minute
	defaultSkew   = time.Hour
	minWindow     = 10 * time.Millisecond
	maxWindow     = 24 * time.Hour
	maxSettle     = 2 * maxWindow

	// maxCall is the longest limit of one call of the store; see timeout. With the default
	// window of a minute, an outage of up to 35 seconds stops no generator. That is two thirds
	// of the window less maxCall.
	maxCall = 5 * time.Second
)

// CheckOptions returns the errors that [Acquire] finds in the layout and the options
// before it calls the store, joined, or nil.
func CheckOptions(layout snowflake.Layout, opts ...Option) error {
	_, err := newConfig(layout, opts)
	return err
}

// newConfig applies the options to the defaults. It applies all options even after an error,
// so that the caller sees every mistake at once. If the layout is invalid, it returns only the
// error of the layout, because it could not compare the options with such a layout.
func newConfig(layout snowflake.Layout, opts []Option) (config, error) {
	if err := layout.Validate(); err != nil {
		return config{}, err
	}
	c := config{layout: layout, window: defaultWindow, maxSkew: defaultSkew, log: slog.Default(), last: workers(layout) - 1, random: rand.Int64N}
	err := option.Apply("lease", opts, func(opt Option) error { return opt.apply(&c) })
	return c, errors.Join(err,
		option.Check(!c.oneWorker || !c.workerRange, "lease: WithWorker together with WithWorkers: leave one of them out"),
		// The lease renews a window after a third of it, which is then at least a tick.
		option.Check(c.window >= 3*layout.Tick, "lease: WithWindow(%v): want at least three ticks of %v", c.window, layout.Tick))
}

// timeout returns the limit for one call of the store. That is a third of the window, after
// which the next attempt is due, but between half a second and maxCall.
func (c *config) timeout() time.Duration { return min(maxCall, max(c.window/3, maxCall/10)) }

// patience returns how long a process that starts, or that releases a worker, waits for
// a connection of the store. It is longer than timeout, the limit for one call, because the
// store may inspect a new connection.
func (c *config) patience() time.Duration { return 4 * c.timeout() }

// WithWindow sets the window, which is the time for which the store reserves a worker ahead
// of the clock. The lease writes to the store every third of a window. The store may be down
// for two thirds of the window, less 5 seconds for a call, before a generator stops. The
// worker of a process that was killed stays leased for up to a window. The default is a
// minute. The range is 10ms to 24h, and at least three ticks of the layout.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < minWindow || d > maxWindow {
			return fmt.Errorf("lease: WithWindow(%v) out of range [%v, %v]", d, minWindow, maxWindow)
		}
		c.window = d
		return nil
	})
}

// WithSettle makes the lease wait for d after it has taken a worker, and write the
// record once more, before the first ID is issued. Use it, with a window or more, on a
// store that can forget acknowledged writes, such as a Redis with asynchronous
// replicas. On such a store a worker may look free although another process, whose write
// was forgotten, still issues under it. After the wait that process has reached the end of
// its window, or has found that its worker is lost.
//
// This relies on clocks that are roughly right, and on no generator running ahead of its
// clock ([WithMaxAhead], [snowflake.WithLogicalTime]). A time of less than a window
// protects little, and is logged as a warning. The default is zero, the maximum 48 hours.
func WithSettle(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.settle = d
		return option.Check(d >= 0 && d <= maxSettle, "lease: WithSettle(%v) out of range [0s, %v]", d, maxSettle)
	})
}

// WithMaxAhead lets [Acquire] take a worker whose bound is up to d ahead of the clock
// if no other worker is free. The generator then runs that far ahead of the clock, and
// the time in its IDs is that far in the future. Use it for a restart with the clock
// set back, or soon after a crash on the only worker. Acquire prefers a worker that was
// released, and then the worker with the lowest bound. If that worker has a live holder,
// the holder finds the loss when it next extends its window, stops at once, and fails until
// another worker is free. The default is zero, which never takes a worker early.
func WithMaxAhead(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		c.maxAhead = d
		return option.Check(d >= 0, "lease: WithMaxAhead(%v): want at least 0", d)
	})
}

// WithMaxSkew limits how far this process's clock may be ahead of the store's clock, if the
// store is a [Clock]. [Acquire] returns an error if the clock is further ahead, because the
// bound of the lease would block the worker for all other processes until the time of that
// clock.
//
// If the clock is further ahead when the lease extends its window, the lease finds out which
// of the two clocks is wrong. It takes the store's time at the moment at which the clocks last
// agreed, and adds the time that has elapsed since. If this process's clock is more than d
// ahead of this sum too, the extension fails. Otherwise the store's clock is wrong, and the
// lease logs a warning and extends the window.
//
// [WithMaxAhead] is measured from the clock that passed this check. The default is an hour.
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

// WithDatacenter leases only workers of datacenter n. The default is all datacenters of
// the layout, or datacenter 0 under [WithWorker].
func WithDatacenter(n int64) Option {
	return optionFunc(func(c *config) error {
		c.datacenter = &n
		return inRange("WithDatacenter", "datacenter", n, datacenters(c.layout))
	})
}

// WithWorker leases exactly worker n, for hosts that already have numbers. The lease
// adds mutual exclusion and a high-water mark. Two processes that are given the same
// number by mistake never issue at the same time, and after a restart a process begins
// above the last tick of the previous process. After a crash the worker is free once
// its bound has passed, within a window; see [WithMaxAhead].
func WithWorker(n int64) Option {
	return optionFunc(func(c *config) error {
		c.oneWorker, c.first, c.last = true, n, n
		return inRange("WithWorker", "worker", n, workers(c.layout))
	})
}

// WithWorkers leases one of the workers first to last, both included, in any of the
// datacenters. The default is all workers of the layout.
func WithWorkers(first, last int64) Option {
	return optionFunc(func(c *config) error {
		c.workerRange, c.first, c.last = true, first, last
		return errors.Join(
			option.Check(first <= last, "lease: WithWorkers(%d, %d): want the smaller number first", first, last),
			inRange("WithWorkers", "worker", first, workers(c.layout)),
			inRange("WithWorkers", "worker", last, workers(c.layout)))
	})
}

// WithLogger sets the logger for changes of state: a worker was acquired, lost, fenced
// or released, or the store has failed or answers again. IDs and extensions are not
// logged. The default is [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "lease: WithLogger(nil): want a logger")
	})
}

// inRange returns an error if n is not in [0, count). For the error, name is the option and
// kind is the kind of number, for example "worker".
func inRange(name, kind string, n, count int64) error {
	return option.Check(n >= 0 && n < count, "lease: %s: %s %d out of range [0, %d] of the layout", name, kind, n, count-1)
}

// datacenterVariable is the environment variable with the datacenter of this process.
// [snowflake.FromEnv] reads it too.
const datacenterVariable = "SNOWFLAKE_DATACENTER_ID"

// WithStatefulSetWorker is [WithWorker] with the ordinal at the end of the host name:
// pod web-7 of a Kubernetes StatefulSet leases worker 7, also if its host name has a
// domain. A host name without an ordinal, or with an ordinal that the layout cannot
// hold, is an error. Use it in StatefulSets only, because other host names that end in
// -<number>, such as ip-10-0-3-17, look like a pod's.
//
// The datacenter comes from [WithDatacenter], or from the environment variable
// SNOWFLAKE_DATACENTER_ID, or is 0 if neither is given. Two StatefulSets that share a
// store need different datacenters, because their pods have the same ordinals and would
// wait for each other's workers. A variable that is set to anything but a datacenter of
// the layout is an error.
func WithStatefulSetWorker() Option {
	return optionFunc(func(c *config) error {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("lease: WithStatefulSetWorker: host name: %w", err)
		}
		return c.setStatefulSetWorker(host)
	})
}

// setStatefulSetWorker sets the worker to the ordinal of the host name, for example 7 for
// web-7, and the datacenter to the value of the environment variable. It keeps the datacenter
// if [WithDatacenter] has set it before. A later [WithDatacenter] replaces the datacenter.
func (c *config) setStatefulSetWorker(host string) error {
	worker, err := podname.Ordinal(host)
	if err != nil {
		return fmt.Errorf("lease: WithStatefulSetWorker: %w", err)
	}
	c.oneWorker, c.first, c.last = true, worker, worker
	err = inRange("WithStatefulSetWorker", "worker", worker, workers(c.layout))
	text, set := os.LookupEnv(datacenterVariable)
	if err != nil || !set || c.datacenter != nil {
		return err
	}
	n, err := strconv.ParseUint(text, 10, 31) // 31 bits fit into an int64; inRange compares n with the layout
	if err != nil {
		return fmt.Errorf("lease: WithStatefulSetWorker: %s=%q: want a number", datacenterVariable, text)
	}
	datacenter := int64(n)
	c.datacenter = &datacenter
	return inRange("WithStatefulSetWorker: "+datacenterVariable, "datacenter", datacenter, datacenters(c.layout))
}
