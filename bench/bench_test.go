package bench_test

import (
	"flag"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
)

// results contains the metrics of a run for each peer, by their units.
type results map[string]metrics

// metrics contains numbers by their units, such as ns/op.
type metrics map[string]float64

// compare reports the results of measure for all peers as sub-benchmarks, one for each peer.
// measure is called once for each run of -count, by the first peer.
//
// Plain benchmarks have three problems. They run one peer for a second and then the next
// peer, so that the machine's load differs between peers. They take IDs as fast as they can.
// A generator with a sequence of 12 bits has only 4,096 IDs in a millisecond, so it then
// waits for the clock, and an ID takes 244 ns, however fast the generator's code is. They
// report means, which every interruption raises. Therefore measure alternates between the
// peers in windows that are far shorter than changes of the machine's load.
func compare(b *testing.B, names []string, measure func(b *testing.B) results) {
	b.Helper()
	var runs []results
	for _, peer := range names {
		run := -1
		b.Run("peer="+peer, func(b *testing.B) {
			if b.N == 1 { // the first call of each run
				run++
			}
			if run == len(runs) { // this is the first peer of the run
				runtime.GC()
				runs = append(runs, measure(b))
			}
			for unit, x := range runs[run][peer] {
				b.ReportMetric(x, unit)
			}
		})
	}
}

// rounds returns n, or a few for -benchtime 1x, which show that everything works but not
// how fast.
func rounds(n int) int {
	if flag.Lookup("test.benchtime").Value.String() == "1x" {
		return max(3, n/20)
	}
	return n
}

// window measures a peer once, briefly. run returns nanoseconds per step.
type window struct {
	peer string
	run  func() float64
}

// peersOf returns the names of the windows' peers.
func peersOf(windows []window) (names []string) {
	for _, w := range windows {
		names = append(names, w.peer)
	}
	return names
}

// lowQuartile is the quantile of a peer's times that stands for its cost without
// interruptions. It is a quarter, because interruptions hit fewer than three windows of four,
// even on a busy machine.
const lowQuartile = 0.25

// interleave runs the windows in turn for n rounds, and reports the quantile of the times of
// each peer.
func interleave(b *testing.B, n int, quantile float64, windows []window) {
	b.Helper()
	compare(b, peersOf(windows), func(*testing.B) results { return quantiles(collect(windows, rounds(n)), quantile) })
}

// collect runs all windows n times. It reverses their order in every second round, so that no
// peer always follows the same peer.
func collect(windows []window, n int) map[string][]float64 {
	times := map[string][]float64{}
	for round := range n {
		for i := range windows {
			if round%2 == 1 {
				i = len(windows) - 1 - i
			}
			times[windows[i].peer] = append(times[windows[i].peer], windows[i].run())
		}
	}
	return times
}

// quantiles returns a quantile of the times of each peer.
func quantiles(times map[string][]float64, quantile float64) results {
	all := results{}
	for peer, ns := range times {
		all[peer] = metrics{"ns/op": stats.Quantile(ns, quantile)}
	}
	return all
}

// nanosPerStep returns the nanoseconds that each of n steps of f takes.
func nanosPerStep(b *testing.B, n int, f func() error) float64 {
	b.Helper()
	start := time.Now()
	err := f()
	ns := float64(time.Since(start)) / float64(n)
	must(b, err)
	return ns
}

// must ends the benchmark if there is an error.
func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// atMillisecond returns right after a millisecond has begun, when the sequence of the
// millisecond is unused.
func atMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		continue
	}
}

// openPeers creates the contenders at the first call, and returns the same contenders later,
// because a process may have only one generator of a fixed worker at a time.
var openPeers = sync.OnceValues(peers.Open)

// contenders returns all generators, and after them the given contenders.
func contenders(b *testing.B, more ...peers.Contender) []peers.Contender {
	b.Helper()
	all, err := openPeers()
	must(b, err)
	return slices.Concat(all, more)
}

// namesOf returns the contenders' names.
func namesOf(contenders []peers.Contender) (names []string) {
	for _, c := range contenders {
		names = append(names, c.Name)
	}
	return names
}
