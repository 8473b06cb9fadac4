package clock_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

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
			if got := clock.CertainlyOpen(until, test.count); got != test.want {
				t.Errorf("at count %d of %d: %v, want %v", test.count, uint64(until), got, test.want)
			}
		})
	}
	if clock.CertainlyOpen(clock.Idle, 0) || clock.CertainlyOpen(clock.Busy, 0) {
		t.Error("no counter is there: trusted")
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
			if got := clock.KeepsUp(start, uint64(start+test.counts), time.Second); got != test.want {
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
		"a nanosecond left":          {second, 1, true, start + second},
		"over":                       {second, 0, false, 0},
		"long over":                  {second, -time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trust, open := clock.StillOpen(start, start+test.counts, test.left)
			if trust != test.trust || open != test.open {
				t.Errorf("trusted up to %d, the tick is open: %v; want %d, %v", trust, open, test.trust, test.open)
			}
		})
	}
}

// Of a tick that has just come neither the counter nor the clock is asked before
// the second call, and the counter not before the clock.
func TestAnotherTickIsNotTrusted(t *testing.T) {
	t.Parallel()
	for first, want := range map[bool]uint64{true: clock.Idle, false: clock.Busy} {
		until, count := clock.Reopened(1<<40, first)
		if until != want || first && count != 0 || clock.CertainlyOpen(until, count) {
			t.Errorf("first call %v: trusted up to %d at the count %d, want %d, and not trusted", first, until, count, want)
		}
	}
}
