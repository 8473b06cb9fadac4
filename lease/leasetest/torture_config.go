package leasetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// A Server is a store that Torture may kill and start again. Start returns when
// the store answers. What it has acknowledged must still be there.
type Server interface {
	Start() error
	Kill()
}

// A TortureConfig sets how much [Torture] does. Zero fields have the defaults
// given next to them; other values out of range fail the test.
type TortureConfig struct {
	Processes int // that run at a time: 8
	Workers   int // for them: 6; with fewer workers than processes they change hands all the time

	// Window is the window of the leases, and the unit in which pauses are
	// counted: a second.
	Window time.Duration

	// Skew is by how much the clocks are off, either way: three seconds. A
	// negative one means clocks that are right, but for those that are an hour
	// off.
	Skew time.Duration

	// The torture lasts at least for Duration: eight seconds, or three with
	// -short. It lasts longer, up to a limit, until there are as many IDs, and
	// as many pauses longer than the window: 20,000 and 4, or two million and
	// 20 in the long form. A negative number asks for none.
	Duration    time.Duration
	IDs, Pauses int

	// Server is killed and started again, Outages times or more: once; nil
	// leaves the store alone.
	Server  Server
	Outages int

	// LoseOneIn has each process lose one in so many answers of the store to
	// its writes, which have happened: its lease gets an error in place of the
	// answer. It is for a store without connections that could be cut. Zero
	// loses none.
	LoseOneIn int

	// Seed repeats the decisions of a torture that has logged its seed, though
	// not its timing. Zero takes another one each time.
	Seed uint64
}

// torture is a config with its defaults filled in.
type torture struct {
	TortureConfig
	limit time.Duration
}

func newTorture(t *testing.T, c TortureConfig) *torture {
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
	// 2,000 IDs a second are a tenth of what eight processes do on an idle
	// machine.
	limit := time.Minute + 3*c.Duration + time.Duration(c.IDs)*time.Second/2000
	return &torture{TortureConfig: c, limit: limit}
}

func (c *TortureConfig) check() error {
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
