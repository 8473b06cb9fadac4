package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gormflake/gormflake/bench/internal/stats"
)

// A quantile between two values is interpolated, and a share outside 0 to 1 counts as 0
// or 1.
func TestQuantile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		xs   []float64
		q    float64
		want float64
	}{
		{"one value", []float64{7}, 0.25, 7},
		{"smallest", []float64{3, 1, 2}, 0, 1},
		{"largest", []float64{3, 1, 2}, 1, 3},
		{"median of an odd number", []float64{9, 1, 5}, 0.5, 5},
		{"median of an even number", []float64{4, 1, 3, 2}, 0.5, 2.5},
		{"lower quartile on a value", []float64{50, 10, 20, 40, 30}, 0.25, 20},
		{"lower quartile between values", []float64{10, 20, 30, 40}, 0.25, 17.5},
		{"share below zero", []float64{2, 1}, -1, 1},
		{"share above one", []float64{2, 1}, 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := stats.Quantile(tt.xs, tt.q); got != tt.want {
				t.Errorf("Quantile(%v, %v) = %v, want %v", tt.xs, tt.q, got, tt.want)
			}
		})
	}
}

// Without values there is no quantile, and 0 would look like a result.
func TestQuantileOfNothing(t *testing.T) {
	t.Parallel()
	if got := stats.Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile(nil, 0.5) = %v, want NaN", got)
	}
}

// TestQuantileKeepsItsInput checks that the caller's slice stays in its order, by which
// Ratios pairs two measurements.
func TestQuantileKeepsItsInput(t *testing.T) {
	t.Parallel()
	xs := []float64{3, 1, 2}
	stats.Quantile(xs, 0.5)
	if !slices.Equal(xs, []float64{3, 1, 2}) {
		t.Errorf("Quantile changed its input to %v", xs)
	}
}

// TestQuantileProperties checks that the order of the values does not matter, and that a
// quantile rises with its share.
func TestQuantileProperties(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		xs := make([]float64, 1+rnd.IntN(40))
		for i := range xs {
			xs[i] = float64(rnd.IntN(100))
		}
		shuffled := slices.Clone(xs)
		rnd.Shuffle(len(xs), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		last := math.Inf(-1)
		for q := 0.0; q <= 1; q += 0.05 {
			got := stats.Quantile(xs, q)
			if got < last || got < slices.Min(xs) || got > slices.Max(xs) {
				t.Fatalf("Quantile(%v, %v) = %v after %v", xs, q, got, last)
			}
			if again := stats.Quantile(shuffled, q); again != got {
				t.Fatalf("Quantile(%v, %v) = %v, of another order %v", xs, q, got, again)
			}
			last = got
		}
	}
}

// The median of an odd number of values is the middle value, also if one is far away.
func TestMedian(t *testing.T) {
	t.Parallel()
	if got := stats.Median([]float64{1, 100, 2}); got != 2 {
		t.Errorf("Median = %v, want 2", got)
	}
}

// Ratios divides pairs, and ignores a value without a partner.
func TestRatios(t *testing.T) {
	t.Parallel()
	got := stats.Ratios([]float64{1, 9, 5}, []float64{2, 3})
	if !slices.Equal(got, []float64{0.5, 3}) {
		t.Errorf("Ratios = %v, want [0.5 3]", got)
	}
}
