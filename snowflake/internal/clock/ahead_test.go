package clock_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// A generator believes a wall clock that is further ahead than the limit once both
// clocks have agreed for [clock.Agreement]. They may differ by a second and a
// thousandth of the time that has passed.
func TestFarAheadIsBelieved(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	const allowed = time.Second + clock.Agreement/1000
	for name, test := range map[string]struct {
		step    time.Duration // of the wall clock, before the first comparison
		passed  time.Duration // until the second comparison
		apart   time.Duration // a further step during that time
		believe bool
	}{
		"at the limit":       {step: limit, believe: true},
		"beyond it":          {step: limit + 1},
		"for too short":      {step: time.Hour, passed: clock.Agreement - 1},
		"for long enough":    {step: time.Hour, passed: clock.Agreement, believe: true},
		"apart, just enough": {step: time.Hour, passed: clock.Agreement, apart: allowed, believe: true},
		"too far apart":      {step: time.Hour, passed: clock.Agreement, apart: allowed + 1},
		"back, just enough":  {step: time.Hour, passed: clock.Agreement, apart: -allowed, believe: true},
		"back too far":       {step: time.Hour, passed: clock.Agreement, apart: -allowed - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The clock starts at its epoch and has run for an hour, so that the first
			// comparison cannot agree with an earlier one.
			epoch := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
			wall, elapsed := epoch.Add(time.Hour), time.Hour
			var c clock.Clock
			c.Init(clock.Config{
				Epoch: epoch, Tick: time.Millisecond, MaxJump: limit,
				Read: func() (time.Time, time.Duration) { return wall, elapsed },
			})
			wall = wall.Add(test.step)
			c.Lock()
			defer c.Unlock()
			_, offset := c.Compare()
			if test.passed > 0 {
				if offset != test.step {
					t.Fatalf("offset %v at first, want %v", offset, test.step)
				}
				elapsed += test.passed
				wall = wall.Add(test.passed + test.apart)
				_, offset = c.Compare()
			}
			if got := offset == 0; got != test.believe {
				t.Errorf("offset %v, want it believed: %v", offset, test.believe)
			}
		})
	}
}

// If the wall clock is the only clock, its steps forward up to the limit count as time
// passing. Larger steps do not.
func TestFarAheadByTheWallClockAlone(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Minute
	for name, test := range map[string]struct {
		step    time.Duration
		believe bool
	}{
		"within the limit": {limit - 1, true},
		"at the limit":     {limit, true},
		"beyond it":        {limit + 1, false},
		"back":             {-time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			epoch := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
			wall := epoch
			var c clock.Clock
			c.Init(clock.Config{
				Epoch: epoch, Tick: time.Millisecond, MaxJump: limit,
				Wall: func() time.Time { return wall },
			})
			c.Lock()
			defer c.Unlock()
			for _, step := range []time.Duration{time.Hour, test.step} {
				wall = wall.Add(step)
				c.Compare()
			}
			if got := c.Offset() == 0; got != test.believe {
				t.Errorf("offset %v, want it believed: %v", c.Offset(), test.believe)
			}
		})
	}
}
