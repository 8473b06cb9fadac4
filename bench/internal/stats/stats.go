// Package stats summarizes repeated measurements.
package stats

import (
	"math"
	"slices"
)

// Quantile returns the value below which the share q of xs lies, interpolated between
// neighbours. For example, 0 is the smallest value, 0.5 the median, and 1 the largest
// value. It does not change xs, and returns NaN if xs is empty.
//
// A low quantile of many short windows is the cost without the machine's interruptions,
// which only increase a time. It is steadier than the minimum.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	at := min(max(q, 0), 1) * float64(len(sorted)-1) // the index of the value, which may be between two neighbours
	below, part := int(at), at-math.Floor(at)
	if part == 0 {
		return sorted[below]
	}
	return sorted[below]*(1-part) + sorted[below+1]*part
}

// Median returns the middle of xs, or the mean of its two middle values.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// Ratios returns a[i]/b[i] for each i. If a[i] and b[i] were measured side by side, divide them
// before you summarize them, so that a disturbance that slowed both cancels out. Ratios ignores
// the rest of the longer slice.
func Ratios(a, b []float64) []float64 {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}
