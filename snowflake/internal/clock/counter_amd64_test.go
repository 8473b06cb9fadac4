//go:build gc && linux && !purego && !faketime

package clock_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// Linux draws the same conclusion from the same bit.
func TestInvariant(t *testing.T) {
	t.Parallel()
	flags, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	if want := strings.Contains(string(flags), " nonstop_tsc"); clock.Invariant() != want {
		t.Errorf("got %v, want %v", clock.Invariant(), want)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	if !clock.Invariant() {
		t.Skip("the counter is not invariant here")
	}
	count, start := clock.Count(), time.Now()
	time.Sleep(50 * time.Millisecond)
	counts, elapsed := clock.Count()-count, time.Since(start)
	if rate := float64(counts) / elapsed.Seconds(); rate < 0.5e9 || rate > 10e9 {
		t.Errorf("%d counts in %v, %.2e a second", counts, elapsed, rate)
	}
}

func BenchmarkCount(b *testing.B) {
	for b.Loop() {
		clock.Count()
	}
}

func BenchmarkClock(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		time.Since(start)
	}
}
