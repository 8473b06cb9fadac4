package torture

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// A Config has the fields of [leasetest.TortureConfig], which documents them. It is a type of
// its own because package leasetest imports this package.
type Config struct {
	Processes   int
	Workers     int
	Window      time.Duration
	Skew        time.Duration
	Duration    time.Duration
	IDs, Pauses int
	Server      interface {
		Start() error
		Kill()
	}
	Outages   int
	LoseOneIn int
	Seed      uint64
}

// torture is a config with its defaults filled in.
type torture struct {
	Config
	limit time.Duration // the longest time that the torture may run
}

// newTorture checks the config and fills in its defaults. Negative numbers, which mean none,
// become zero.
func newTorture(t *testing.T, c Config) *torture {
	t.Helper()
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	duration, ids, pauses := 8*time.Second, 20_000, 4
	if testing.Short() {
		duration = 3 * time.Second
	}
	if os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" {
		ids, pauses = 2_000_000, 20
	}
	c.Processes = cmp.Or(c.Processes, 8)
	c.Workers = cmp.Or(c.Workers, 6)
	c.Window = cmp.Or(c.Window, time.Second)
	c.Skew = max(0, cmp.Or(c.Skew, 3*time.Second))
	c.Duration = cmp.Or(c.Duration, duration)
	c.IDs = max(0, cmp.Or(c.IDs, ids))
	c.Pauses = max(0, cmp.Or(c.Pauses, pauses))
	c.Outages = cmp.Or(c.Outages, 1)
	c.Seed = cmp.Or(c.Seed, rand.Uint64())
	// 2,000 IDs a second are a tenth of the rate of eight processes on an idle machine.
	limit := time.Minute + 3*c.Duration + time.Duration(c.IDs)*time.Second/2000
	return &torture{Config: c, limit: limit}
}

// check returns an error for each field that is out of range.
func (c *Config) check() error {
	var errs []error
	reject := func(bad bool, field string, value, want any) {
		if bad {
			errs = append(errs, fmt.Errorf("leasetest: TortureConfig.%s is %v: want %v", field, value, want))
		}
	}
	reject(c.Processes < 0, "Processes", c.Processes, "1 or more")
	reject(c.Workers < 0 || c.Workers > 1<<layout.WorkerBits, "Workers", c.Workers, fmt.Sprintf("1 to %d", 1<<layout.WorkerBits))
	reject(c.Window < 0, "Window", c.Window, "more than 0")
	reject(c.Duration < 0, "Duration", c.Duration, "more than 0")
	reject(c.Outages < 0, "Outages", c.Outages, "1 or more")
	reject(c.LoseOneIn < 0, "LoseOneIn", c.LoseOneIn, "0 or more")
	return errors.Join(errs...)
}
