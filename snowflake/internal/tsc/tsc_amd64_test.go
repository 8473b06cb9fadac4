//go:build gc && linux && !purego && !faketime

package tsc_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/tsc"
)

// Linux draws the same conclusion from the same bit.
func TestInvariant(t *testing.T) {
	t.Parallel()
	flags, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	if want := strings.Contains(string(flags), " nonstop_tsc"); tsc.Invariant() != want {
		t.Errorf("got %v, want %v", tsc.Invariant(), want)
	}
}

func TestReadCounts(t *testing.T) {
	t.Parallel()
	if !tsc.Invariant() {
		t.Skip("the counter is not invariant here")
	}
	count, start := tsc.Read(), time.Now()
	time.Sleep(50 * time.Millisecond)
	counts, elapsed := tsc.Read()-count, time.Since(start)
	if rate := float64(counts) / elapsed.Seconds(); rate < 0.5e9 || rate > 10e9 {
		t.Errorf("%d counts in %v, %.2e a second", counts, elapsed, rate)
	}
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		tsc.Read()
	}
}

func BenchmarkClock(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		time.Since(start)
	}
}
