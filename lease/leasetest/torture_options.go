package leasetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/option"
)

// A TortureOption changes a default of [Torture].
type TortureOption interface{ apply(*torture) error }

type tortureFunc func(*torture) error

func (f tortureFunc) apply(c *torture) error { return f(c) }

// A Server is a store that Torture may kill and start again. Start returns when
// the store answers. What it has acknowledged must still be there.
type Server interface {
	Start() error
	Kill()
}

// torture is how much is done.
type torture struct {
	processes, workers int
	window, skew       time.Duration
	duration, limit    time.Duration
	ids, pauses        int
	loseOneIn          int // answers to writes; 0 is none
	server             Server
	seed               uint64
	breaker            string
}

func newTorture(t *testing.T, opts []TortureOption) *torture {
	t.Helper()
	c := &torture{
		processes: 8,
		workers:   6,
		window:    time.Second,
		skew:      3 * time.Second,
		duration:  8 * time.Second,
		ids:       20_000,
		pauses:    4,
		seed:      rand.Uint64(),
	}
	if testing.Short() {
		c.duration = 3 * time.Second
	}
	if os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" {
		c.ids, c.pauses = 2_000_000, 20
	}
	if err := option.Apply("leasetest", opts, func(opt TortureOption) error { return opt.apply(c) }); err != nil {
		t.Fatal(err)
	}
	// 2,000 IDs a second are a tenth of what eight processes do on an idle
	// machine.
	c.limit = time.Minute + 3*c.duration + time.Duration(c.ids)*time.Second/2000
	return c
}

func atLeast(option string, got, least int) error {
	if got < least {
		return fmt.Errorf("leasetest: %s(%d), want at least %d", option, got, least)
	}
	return nil
}

func positive(option string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("leasetest: %s(%v), want more than 0", option, d)
	}
	return nil
}

// WithProcesses sets how many processes run at a time. The default is 8.
func WithProcesses(n int) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.processes = n
		return atLeast("WithProcesses", n, 1)
	})
}

// WithWorkers sets how many workers there are for them. Fewer workers than
// processes make workers change hands all the time. The default is 6.
func WithWorkers(n int) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.workers = n
		if n > 1<<layout.WorkerBits {
			return fmt.Errorf("leasetest: WithWorkers(%d), want at most %d", n, 1<<layout.WorkerBits)
		}
		return atLeast("WithWorkers", n, 1)
	})
}

// WithWindow sets the window of the leases, which is also the unit in which
// pauses are counted. The default is a second.
func WithWindow(d time.Duration) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.window = d
		return positive("WithWindow", d)
	})
}

// WithSkew sets by how much the clocks are off, either way. The default is
// three seconds. Zero means clocks that are right, but for those that are an
// hour off.
func WithSkew(d time.Duration) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.skew = d
		if d < 0 {
			return fmt.Errorf("leasetest: WithSkew(%v), want at least 0", d)
		}
		return nil
	})
}

// WithDuration sets for how long the torture goes on at least. The default is
// eight seconds, or three with -short.
func WithDuration(d time.Duration) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.duration = d
		return positive("WithDuration", d)
	})
}

// WithIDs sets how many IDs there must be. The torture goes on for them, but
// not for ever. The default is 20,000, or two million in the long form.
func WithIDs(n int) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.ids = n
		return atLeast("WithIDs", n, 1)
	})
}

// WithPauses sets how many pauses longer than the window there must be. The
// torture goes on for them, but not for ever. The default is 4, or 20 in the
// long form.
func WithPauses(n int) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.pauses = n
		return atLeast("WithPauses", n, 0)
	})
}

// WithServer has the store killed and started again during the torture. The
// default is to leave it alone.
func WithServer(server Server) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.server = server
		if server == nil {
			return errors.New("leasetest: WithServer(nil), want a server")
		}
		return nil
	})
}

// WithLostAnswers has each process lose one in n answers of the store to its
// writes, which have happened: its lease gets an error in place of the answer. It is
// for a store without connections that could be cut. By default none is lost.
func WithLostAnswers(n int) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.loseOneIn = n
		return atLeast("WithLostAnswers", n, 1)
	})
}

// WithSeed repeats the decisions of a torture that has logged its seed, though
// not its timing. The default is another seed each time.
func WithSeed(seed uint64) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.seed = seed
		return nil
	})
}

func withBreaker(name string) TortureOption {
	return tortureFunc(func(c *torture) error {
		c.breaker = name
		return nil
	})
}
