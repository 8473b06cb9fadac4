package bench_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/bench/internal/stopwatch"
)

// BenchmarkRequest measures one ID per request. Between single calls of Next the program
// works for some time. Before a cold call, other code and data fill the caches in this
// time, as in a server. Before a warm call, the program only spins. With a millisecond or
// more between the calls, each ID is the first of its tick. The peers time.Since and
// time.Now only read one clock, or both clocks, so they are the lower limit.
func BenchmarkRequest(b *testing.B) {
	all := contenders(b, peers.Contender{Name: "time.Since", Loop: readClock},
		peers.Contender{Name: "time.Now", Loop: func(int) error { busy.sink += time.Now().Nanosecond(); return nil }})
	watch := stopwatch.New()
	for _, caches := range []struct {
		name string
		ids  int // number of IDs that the contender makes before the program works
		work func() error
	}{{"cold", 0, busy.work}, {"warm", 5, func() error { return nil }}} {
		for _, every := range []struct {
			gap    time.Duration
			rounds int
		}{{100 * time.Microsecond, 1500}, {time.Millisecond, 300}, {3 * time.Millisecond, 120}} {
			b.Run(caches.name+"/every="+every.gap.String(), func(b *testing.B) {
				compare(b, namesOf(all), func(b *testing.B) results {
					return singleCalls(b, watch, all, rounds(every.rounds), func(c peers.Contender) error {
						return errors.Join(c.Loop(caches.ids), watch.During(every.gap, caches.work))
					})
				})
			})
		}
	}
}

// singleCalls returns the times of calls, in a different order in each round, minus the
// time of an empty call. It calls before in front of each call.
func singleCalls(b *testing.B, watch stopwatch.Stopwatch, all []peers.Contender, rounds int, before func(peers.Contender) error) results {
	b.Helper()
	const nothing = "nothing"
	all = append(all, peers.Contender{Name: nothing, Loop: func(int) error { return nil }})
	times := map[string][]float64{}
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			must(b, before(all[i]))
			ns, err := watch.Time(func() error { return all[i].Loop(1) })
			must(b, err)
			times[all[i].Name] = append(times[all[i].Name], ns)
		}
	}
	m, empty := results{}, stats.Median(times[nothing])
	for peer, ns := range times {
		m[peer] = metrics{"ns/op": stats.Median(ns) - empty, "p90-ns/op": stats.Quantile(ns, 0.9) - empty}
	}
	return m
}

// busy is a program that does other work. It reads more memory than a processor's own
// caches hold, and runs more code.
var busy = &worker{start: time.Now(), memory: make([]byte, 16<<20)}

// worker reads its memory from start to end, again and again. sink keeps the results, so
// that the compiler does not remove the reading.
type worker struct {
	start  time.Time
	memory []byte
	at     int
	sink   int
}

// work takes some microseconds. It does not read the clock, so that the generators find
// the clock's code and data cold.
func (w *worker) work() error {
	for range 64 {
		w.at = (w.at + 17*64) % len(w.memory) // in another cache line, of 64 bytes
		w.sink += int(w.memory[w.at])
	}
	text, err := json.Marshal(record[int]{ID: w.at, Name: "a name"})
	if err != nil {
		return err
	}
	var back record[int]
	return json.Unmarshal(text, &back)
}
