package main

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/bench/internal/stats"
)

// A figure is one line of the table of ratios: what is measured, what it is
// measured beside, and what it has to reach. Its numbers are one for each run.
type figure struct {
	what      string
	unit      string // of ours and reference
	ours      []float64
	reference []float64 // nil: there is none
	ratio     []float64 // nil: there is none
	byRatio   bool      // the target is about the ratio, not about ours
	target    target
}

// A target is what the median over the runs has to reach.
type target struct {
	bound float64
	most  bool
	unit  string
}

func atMost(bound float64, unit string) target  { return target{bound, true, unit} }
func atLeast(bound float64, unit string) target { return target{bound, false, unit} }

func (t target) reached(x float64) bool {
	if t.most {
		return x <= t.bound
	}
	return x >= t.bound
}

func (t target) String() string {
	sign := "≥"
	if t.most {
		sign = "≤"
	}
	return sign + " " + quantity(t.bound, t.unit)
}

// versus is our time as a share of the reference's.
func versus(what string, s series, ours, reference string, t target) figure {
	return figure{
		what: what, unit: "ns", ours: s[ours], reference: s[reference],
		ratio: stats.Ratios(s[ours], s[reference]), byRatio: true, target: t,
	}
}

// faster is how many times the reference's time is ours.
func faster(what string, s series, ours, reference string, t target) figure {
	f := versus(what, s, ours, reference, t)
	f.ratio = stats.Ratios(s[reference], s[ours])
	return f
}

// plain is judged by its own number.
func plain(what string, ours []float64, t target) figure {
	return figure{what: what, unit: t.unit, ours: ours, target: t}
}

// beside shows the reference, in its own unit times factor, without judging by it.
func (f figure) beside(reference []float64, factor float64) figure {
	f.reference = scaled(reference, factor)
	f.ratio = stats.Ratios(f.ours, f.reference)
	return f
}

// in shows ours and the reference in another unit.
func (f figure) in(unit string, factor float64) figure {
	f.unit, f.ours, f.reference = unit, scaled(f.ours, factor), scaled(f.reference, factor)
	return f
}

func (f figure) judged() []float64 {
	if f.byRatio {
		return f.ratio
	}
	return f.ours
}

func (f figure) reached() bool { return f.target.reached(stats.Median(f.judged())) }

// row is what ours, reference, ratio, target, reached, spread.
func (f figure) row() []string {
	reached := "**no**"
	if f.reached() {
		reached = "yes"
	}
	x := f.judged()
	spread := fmt.Sprintf("%s–%s", number(slices.Min(x)), number(slices.Max(x)))
	return []string{
		f.what, median(f.ours, f.unit), median(f.reference, f.unit), median(f.ratio, "×"),
		f.target.String(), reached, spread,
	}
}

func scaled(xs []float64, factor float64) []float64 {
	ys := slices.Clone(xs)
	for i := range ys {
		ys[i] *= factor
	}
	return ys
}

func median(xs []float64, unit string) string {
	if len(xs) == 0 {
		return ""
	}
	return quantity(stats.Median(xs), unit)
}

func quantity(x float64, unit string) string {
	if unit == "" {
		return number(x)
	}
	return number(x) + " " + unit
}

// number has three significant digits, or all of the whole part.
func number(x float64) string {
	switch abs := max(x, -x); {
	case abs == 0:
		return "0"
	case abs < 10:
		return fmt.Sprintf("%.2f", x)
	case abs < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
