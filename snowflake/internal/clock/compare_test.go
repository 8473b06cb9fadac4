package clock_test

import (
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// Logical time follows a step back only if the caller could commit to it: else
// calls that read the old time and calls that read the new one could meet.
func TestFollow(t *testing.T) {
	t.Parallel()
	const back = 10 * time.Minute
	for name, test := range map[string]struct {
		commits         bool
		logical, offset time.Duration
	}{
		"committed": {true, time.Hour - back, 0},
		"not":       {false, time.Hour, -back},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			epoch := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
			wall := epoch.Add(time.Hour)
			var c clock.Clock
			c.Init(clock.Config{
				Epoch: epoch, Tick: time.Millisecond, MaxJump: time.Hour,
				Read: func() (time.Time, time.Duration) { return wall, time.Minute },
			})
			wall = wall.Add(-back)
			c.Lock()
			defer c.Unlock()
			if now, offset := c.Compare(); !now.Equal(wall) || offset != -back {
				t.Fatalf("Compare = %v, %v, want %v, %v", now, offset, wall, -back)
			}
			c.Follow(-back, func() bool {
				if got := c.Now().Logical; got != time.Hour-back {
					t.Errorf("logical time is %v during the commit, want %v", got, time.Hour-back)
				}
				return test.commits
			})
			if got := c.Now().Logical; got != test.logical || c.Offset() != test.offset {
				t.Errorf("logical time is %v, the offset %v, want %v, %v", got, c.Offset(), test.logical, test.offset)
			}
			if steps, largest := c.StepsBack(); steps != 1 || largest != back {
				t.Errorf("%d steps back, the largest %v, want 1, %v", steps, largest, back)
			}
		})
	}
}
