package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/bench/internal/stopwatch"
)

// A pace is how long a program does something else between two IDs.
type pace struct {
	gap    time.Duration
	rounds int
}

var paces = []pace{{100 * time.Microsecond, 1500}, {time.Millisecond, 300}, {3 * time.Millisecond, 120}}

// The names of what is measured besides the generators: what the call itself costs,
// which is taken off the others, and the clock alone.
const (
	nothing    = "nothing"
	oneClock   = "floor: time.Since"
	bothClocks = "floor: time.Now"
)

// request measures one ID per request: single calls of Next, between which the
// program works for some time and other code and data fill the caches. With a
// millisecond or more in between, each ID is the first of its tick. In each round
// the contenders come in another order; the median and the upper decile of the
// rounds are what counts, less the median of a call of nothing.
func request(contenders []peers.Contender) experiment {
	callers := append(slices.Clone(contenders),
		peers.Contender{Name: nothing, Loop: func(int) error { return nil }},
		peers.Contender{Name: oneClock, Loop: readClock},
		peers.Contender{Name: bothClocks, Loop: func(int) error { busy.sink += time.Now().Nanosecond(); return nil }})
	return experiment{
		name: "request",
		run: func(e effort) (sample, error) {
			s, watch := sample{}, stopwatch.New()
			for _, p := range paces {
				if err := p.run(watch, callers, e.windows(p.rounds), s); err != nil {
					return nil, err
				}
			}
			return s, nil
		},
		report: func(s series) report { return reportRequest(callers, s) },
	}
}

func (p pace) run(watch stopwatch.Stopwatch, callers []peers.Contender, rounds int, s sample) error {
	times := series{}
	for range rounds {
		for _, i := range rand.Perm(len(callers)) {
			if err := watch.During(p.gap, busy.work); err != nil {
				return err
			}
			ns, err := watch.Time(func() error { return callers[i].Loop(1) })
			if err != nil {
				return fmt.Errorf("%s: %w", callers[i].Name, err)
			}
			times.add(sample{callers[i].Name: ns})
		}
	}
	own := stats.Quantile(times[nothing], 0.5)
	for _, c := range callers {
		s[p.of(c.Name, "p50")] = stats.Quantile(times[c.Name], 0.5) - own
		s[p.of(c.Name, "p90")] = stats.Quantile(times[c.Name], 0.9) - own
	}
	return nil
}

func (p pace) of(name, quantile string) string {
	return fmt.Sprintf("%s, every %v, %s", name, p.gap, quantile)
}

// busy is a program that does something else: it walks through more memory than a
// processor's own caches hold, and runs more code.
var busy = &worker{start: time.Now(), memory: make([]byte, 16<<20)}

type worker struct {
	start  time.Time
	memory []byte
	at     int
	sink   int
}

// work takes some microseconds. It does not read the clock, whose code and data
// the generators are to find cold.
func (w *worker) work() error {
	for range 64 {
		w.at = (w.at + 17*64) % len(w.memory)
		w.sink += int(w.memory[w.at])
	}
	text, err := json.Marshal(record[int]{ID: w.at, Name: "a name"})
	if err != nil {
		return err
	}
	var back record[int]
	return json.Unmarshal(text, &back)
}

func reportRequest(callers []peers.Contender, s series) report {
	var r report
	t := table{title: "One ID per request, cold, ns", header: []string{""}}
	for _, p := range paces {
		for _, quantile := range []string{"p50", "p90"} {
			t.header = append(t.header, fmt.Sprintf("every %v, %s", p.gap, quantile))
			for _, name := range []string{peers.Ours, peers.Leased} {
				r.figures = append(r.figures, versus("one ID per request, "+p.of(name, quantile), s,
					p.of(name, quantile), p.of(peers.Bwmarrin, quantile), atMost(1.25, "×")))
			}
		}
	}
	for _, c := range callers {
		row := []string{c.Name}
		for _, p := range paces {
			row = append(row, median(s[p.of(c.Name, "p50")], ""), median(s[p.of(c.Name, "p90")], ""))
		}
		t.rows = append(t.rows, row)
	}
	r.tables = []table{t}
	return r
}
