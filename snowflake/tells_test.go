package snowflake_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// An ID shows the tick of its call, even if the clock was last read long ago. Calls
// come at random distances, so that some come right after a tick has begun.
func TestIDsTellTheTickOfTheirCall(t *testing.T) {
	t.Parallel()
	l := wideLayout()
	g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
	late := 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for pause := rand.N(20 * time.Microsecond); pause > 0; pause -= time.Microsecond {
			busyWait(time.Microsecond)
			if rand.N(10) == 0 {
				break
			}
		}
		before := time.Now()
		id, err := g.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		tickEnd := l.Time(id).Add(l.Tick)
		if stale := before.Sub(tickEnd); stale > 20*time.Microsecond { // the wall clock may run a little faster than ours
			late++
			t.Logf("an ID of a tick that was over for %v", stale)
		}
	}
	if late > 0 {
		t.Errorf("%d IDs of an earlier tick", late)
	}
}

// busyWait waits for d without giving up the CPU, because a sleep would take longer.
func busyWait(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		continue
	}
}

// In a bubble of testing/synctest the time stands still until all goroutines sleep. So
// every ID must show exactly the present time.
func TestIDsTellFakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := wideLayout()
		l.Epoch = time.Now().Add(-time.Duration(unique.Add(1)) * time.Millisecond)
		g := open(t, snowflake.Static(0, 0), snowflake.WithLayout(l))
		for calls := 100_000; calls > 1; calls /= 2 { // 100,000 calls take milliseconds of real time, and no fake time
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
