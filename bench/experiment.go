package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// An experiment measures one thing for several contenders side by side.
//
// Plain `go test -bench` cannot: it runs one contender for a second, then the
// next, so that each meets another machine; at its full rate every generator of
// 12 bits waits for the clock and reads 244 ns; and it reports means, to which
// every interruption adds. So an experiment goes round the contenders in windows
// far shorter than the machine's moods, chosen so that no tick's sequence is
// used up, and takes a low quantile or the median of each contender's windows.
type experiment struct {
	name   string
	run    func(effort) (sample, error)
	report func(series) report
}

// A sample holds one number for each contender, from one run.
type sample map[string]float64

// A series holds the numbers of all runs.
type series map[string][]float64

func (s series) add(one sample) {
	for name, x := range one {
		s[name] = append(s[name], x)
	}
}

// effort is how many windows a run takes: all, or a few to see that it works.
type effort struct{ quick bool }

func (e effort) windows(n int) int {
	if e.quick {
		return max(3, n/20)
	}
	return n
}

// measure runs all experiments once, then all again, so that what changes
// about the machine meanwhile shows as spread instead of favouring some.
func measure(experiments []experiment, runs int, once func(run int) ([]sample, error)) ([]report, error) {
	all := make([]series, len(experiments))
	for i := range runs {
		fmt.Fprintf(os.Stderr, "run %d of %d\n", i+1, runs)
		samples, err := once(i)
		if err != nil {
			return nil, err
		}
		for j, one := range samples {
			if all[j] == nil {
				all[j] = series{}
			}
			all[j].add(one)
		}
	}
	reports := make([]report, len(experiments))
	for j, x := range experiments {
		reports[j] = x.report(all[j])
	}
	return reports, nil
}

// once runs each experiment, in this process.
func once(experiments []experiment, e effort) ([]sample, error) {
	samples := make([]sample, len(experiments))
	for i, x := range experiments {
		fmt.Fprintln(os.Stderr, "  "+x.name)
		settle()
		var err error
		if samples[i], err = x.run(e); err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return samples, nil
}

// settle leaves no garbage of the last experiment to the next.
func settle() {
	runtime.GC()
	debug.FreeOSMemory()
}

// atMillisecond returns right after a millisecond has begun, when the sequence
// of a millisecond is unused.
func atMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		continue
	}
}

// timed returns how many nanoseconds each of n steps of f takes.
func timed(n int, f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return float64(time.Since(start)) / float64(n), err
}
