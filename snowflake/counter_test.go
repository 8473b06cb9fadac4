package snowflake_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// An ID tells the tick of its call, however long ago the clock was last read.
// Calls come at all distances, so that some come right after a tick has begun.
func TestIDsTellTheTickOfTheirCall(t *testing.T) {
	t.Parallel()
	l := wide()
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
	late := 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for pause := rand.N(20 * time.Microsecond); pause > 0; pause -= time.Microsecond {
			spin(time.Microsecond)
			if rand.N(10) == 0 {
				break
			}
		}
		before := time.Now()
		id, err := g.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		over := l.Time(id).Add(l.Tick)
		if stale := before.Sub(over); stale > 20*time.Microsecond { // the wall clock may run a little faster than ours
			late++
			t.Logf("an ID of a tick that was over for %v", stale)
		}
	}
	if late > 0 {
		t.Errorf("%d IDs of an earlier tick", late)
	}
}

func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		continue
	}
}

// The processor's counter goes on in a bubble whose time stands still, and
// stands still, nearly, where the bubble's time goes on.
func TestIDsTellFakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := wide()
		l.Epoch = time.Now().Add(-time.Duration(unique.Add(1)) * time.Millisecond)
		g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
		for calls := 100_000; calls > 1; calls /= 2 { // at first some milliseconds for the processor
			for range calls {
				id, err := g.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if got := l.Time(id); !got.Equal(time.Now()) {
					t.Fatalf("an ID of %v at %v", got, time.Now())
				}
			}
			time.Sleep(l.Tick)
		}
	})
}

func TestTrustInTheCounter(t *testing.T) {
	t.Parallel()
	const until, longest = 1 << 40, 5_000_000
	for name, test := range map[string]struct {
		count uint64
		want  bool
	}{
		"just before":            {until - 1, true},
		"at the end":             {until, false},
		"after it":               {until + 1, false},
		"at the beginning":       {until - longest, true},
		"set back":               {until - longest - 1, false},
		"set back to zero":       {0, false},
		"set forward to its end": {1<<64 - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := snowflake.Trusts(until, test.count); got != test.want {
				t.Errorf("at count %d of %d: %v, want %v", test.count, uint64(until), got, test.want)
			}
		})
	}
	if snowflake.Trusts(0, 0) {
		t.Error("no tick was opened, and no counter is there: trusted")
	}
}

func TestCounterThatDoesNotKeepUp(t *testing.T) {
	t.Parallel()
	const start = 1 << 40
	for name, test := range map[string]struct {
		counts int64
		want   bool
	}{
		"3 GHz":                        {3_000_000_000, true},
		"500 MHz":                      {500_000_000, true},
		"less":                         {499_999_999, false},
		"24 MHz, an emulated one's":    {24_000_000, false},
		"none":                         {0, false},
		"set back, a machine moved":    {-start, false},
		"set back further than it was": {-start - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := snowflake.KeepsUp(start, uint64(start+test.counts), time.Second); got != test.want {
				t.Errorf("%d counts in a second: %v, want %v", test.counts, got, test.want)
			}
		})
	}
}

// Reading the clock earns trust for what is left of the tick, at two nanoseconds
// a count.
func TestClockEarnsTrust(t *testing.T) {
	t.Parallel()
	const start, second = 1 << 40, 1_000_000_000
	for name, test := range map[string]struct {
		counts uint64
		left   time.Duration
		open   bool
		trust  uint64 // 0: none
	}{
		"open":                       {second, time.Millisecond, true, start + second + 500_000},
		"open, and does not keep up": {second / 100, time.Millisecond, true, 0},
		"over":                       {second, 0, false, 0},
		"long over":                  {second, -time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trust, open := snowflake.InTick(start, start+test.counts, test.left)
			if trust != test.trust || open != test.open {
				t.Errorf("trusted up to %d, the tick is open: %v; want %d, %v", trust, open, test.trust, test.open)
			}
		})
	}
}

func TestAnotherTickIsNotTrusted(t *testing.T) {
	t.Parallel()
	if got := snowflake.OpenTick(1 << 40); got != 0 {
		t.Errorf("trusted up to the count %d of the tick before", got)
	}
}
