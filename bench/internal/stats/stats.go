// Package stats sums up repeated measurements.
package stats

import (
	"math"
	"slices"
)

// Quantile returns the value below which the share q of xs lies, interpolated
// between neighbours: 0 is the smallest, 0.5 the median, 1 the largest. It
// leaves xs as it is. Of no values it is NaN.
//
// A low quantile of many short windows is the cost without the machine's
// interruptions, which only ever add. It is steadier than the minimum.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	below, part := int(at), at-math.Floor(at)
	if part == 0 {
		return sorted[below]
	}
	return sorted[below]*(1-part) + sorted[below+1]*part
}

// Median returns the middle of xs, or the mean of its two middles.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// Ratios returns a[i]/b[i]: numbers that were measured side by side are to be
// divided before they are summed up, so that what slowed both cancels out.
// Where one is longer, its rest is left out.
func Ratios(a, b []float64) []float64 {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}
