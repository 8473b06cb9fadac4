package clock_test

import (
	"math"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// newScripted returns a clock whose time the test sets. It starts an hour after its epoch,
// with ticks of a millisecond. The wall clock counts from the epoch, elapsed time from zero.
func newScripted() (c *clock.Clock, wall, elapsed *time.Duration) {
	c, wall, elapsed = new(clock.Clock), new(time.Duration), new(time.Duration)
	*wall = time.Hour
	epoch := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	c.Init(clock.Config{
		Epoch: epoch, Tick: time.Millisecond, MaxJump: time.Hour,
		Read: func() (time.Time, time.Duration) { return epoch.Add(*wall), *elapsed },
	})
	return c, wall, elapsed
}

// If the wall clock is the only clock, its small steps forward count as time passing,
// except the part that makes up for a small step back. Larger steps in either direction
// are steps of the clock.
func TestTimeByTheWallClockAlone(t *testing.T) {
	t.Parallel()
	const ms, small = time.Millisecond, 20 * time.Millisecond
	for name, test := range map[string]struct {
		steps []time.Duration // of the wall clock
		want  time.Duration   // elapsed time after the steps
	}{
		"small steps":               {[]time.Duration{1, 0, ms, small}, small + ms + 1},
		"too large a step":          {[]time.Duration{small + 1}, 0},
		"after a large step":        {[]time.Duration{time.Hour, ms}, ms},
		"making up":                 {[]time.Duration{-5 * ms, 3 * ms, 2 * ms}, 0},
		"made up":                   {[]time.Duration{-5 * ms, 3 * ms, 3 * ms}, ms},
		"again":                     {[]time.Duration{-5 * ms, 6 * ms, 6 * ms}, 7 * ms},
		"the largest small step":    {[]time.Duration{-small, ms}, 0},
		"larger":                    {[]time.Duration{-small - 1, ms}, ms},
		"larger, in two":            {[]time.Duration{-small, -1, ms}, ms},
		"a large step makes up too": {[]time.Duration{-5 * ms, time.Hour, ms}, ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wall := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
			var c clock.Clock
			c.Init(clock.Config{
				Epoch: wall, Tick: ms, MaxJump: time.Hour,
				Wall: func() time.Time { return wall },
			})
			var elapsed time.Duration
			for _, step := range test.steps {
				wall = wall.Add(step)
				_, elapsed = c.Read()
			}
			if elapsed != test.want {
				t.Errorf("%v has passed, want %v", elapsed, test.want)
			}
		})
	}
}

// If a tick is too far away to be counted, Until returns the longest Duration.
func TestUntil(t *testing.T) {
	t.Parallel()
	const tick, last = time.Millisecond, math.MaxInt64 / uint64(time.Millisecond)
	c, wall, elapsed := newScripted()
	*wall, *elapsed = *wall+time.Minute, time.Minute
	now := time.Hour + time.Minute
	for of, want := range map[uint64]time.Duration{
		0:              -now,
		3_660_000:      0,
		3_660_001:      tick,
		last:           time.Duration(last)*tick - now,
		last + 1:       math.MaxInt64,
		math.MaxUint64: math.MaxInt64,
	} {
		if got := c.Until(of); got != want {
			t.Errorf("%v until tick %d, want %v", got, of, want)
		}
	}
}

// A start in a future tick counts as a step back of the wall clock. A start in a tick
// that has begun does not move logical time.
func TestStartAt(t *testing.T) {
	t.Parallel()
	const tick = time.Millisecond
	for name, test := range map[string]struct {
		now   time.Duration // within tick 3,600,000
		tick  uint64        // the argument of StartAt
		ahead time.Duration // how far logical time is then ahead of the wall clock
		steps uint64        // steps back that are counted
	}{
		// now, tick, ahead, steps
		"a tick before":      {0, 3_599_999, 0, 0},
		"the present":        {0, 3_600_000, 0, 0},
		"a nanosecond ahead": {tick - 1, 3_600_001, 1, 0},
		"a tick ahead":       {0, 3_600_001, tick, 1},
		"an hour ahead":      {0, 7_200_000, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wall, elapsed := newScripted()
			*wall, *elapsed = *wall+test.now, test.now
			c.Lock()
			defer c.Unlock()
			c.StartAt(test.tick)
			if got := c.Now().Logical - *wall; got != test.ahead || c.Offset() != -test.ahead {
				t.Errorf("ahead by %v, the offset is %v, want %v", got, c.Offset(), test.ahead)
			}
			if steps, largest := c.StepsBack(); steps != test.steps || steps > 0 && largest != test.ahead {
				t.Errorf("%d steps back, the largest %v, want %d", steps, largest, test.steps)
			}
		})
	}
}
