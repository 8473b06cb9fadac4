package main

import "github.com/gormflake/gormflake/bench/internal/stats"

// A window measures one contender once, briefly: it returns nanoseconds per step.
type window struct {
	name string
	run  func() (float64, error)
}

// lowQuartile of the windows is the cost without interruptions: they hit fewer
// than three windows of four, even on a busy machine.
const lowQuartile = 0.25

// interleave goes round the windows, and sums up those of one name by the quantile.
func interleave(windows []window, rounds int, quantile float64) (sample, error) {
	times, err := collect(windows, rounds)
	if err != nil {
		return nil, err
	}
	sum := sample{}
	for name, xs := range times {
		sum[name] = stats.Quantile(xs, quantile)
	}
	return sum, nil
}

// collect goes round the windows, every other time the other way, so that no
// contender always follows the same one.
func collect(windows []window, rounds int) (series, error) {
	times := series{}
	for round := range rounds {
		for i := range windows {
			if round%2 == 1 {
				i = len(windows) - 1 - i
			}
			x, err := windows[i].run()
			if err != nil {
				return nil, err
			}
			times.add(sample{windows[i].name: x})
		}
	}
	return times, nil
}
