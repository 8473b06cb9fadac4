package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
)

// maxSkew is how far apart two threads may begin for the window to count.
const maxSkew = 3 * time.Microsecond

// parallel measures Next on two threads at once, each on its own CPU: both
// await the same millisecond, spinning, and make 800 IDs each. A window is the
// time until the later one ends, divided by all IDs; lower quartile.
//
// A benchmark of a thousand goroutines would measure the scheduler instead.
func parallel(contenders []peers.Contender) experiment {
	return experiment{
		name: "parallel",
		run: func(e effort) (sample, error) {
			t := newTrack()
			defer t.close()
			return t.race(contenders, e.windows(225))
		},
		report: func(s series) report {
			return report{
				figures: []figure{
					versus("Next, two goroutines", s, peers.Ours, peers.Bwmarrin, atMost(0.65, "×")),
					versus("Next, leased, two goroutines", s, peers.Leased, peers.Bwmarrin, atMost(0.65, "×")),
				},
				tables: []table{perContender("Next, two threads, wall ns/ID", "ns/ID", contenders, s)},
			}
		},
	}
}

// A heat is one loop to be run on both threads from the same instant.
type heat struct {
	at   time.Time
	n    int
	loop func(int) error
}

// A lap is when one thread ran it.
type lap struct {
	begin, end time.Time
	err        error
}

// A track is two threads, each on a CPU of its own where that can be arranged.
type track struct {
	heats [2]chan heat
	laps  [2]chan lap
	wg    sync.WaitGroup
}

func newTrack() *track {
	t := &track{}
	for cpu := range t.heats {
		t.heats[cpu], t.laps[cpu] = make(chan heat), make(chan lap)
		t.wg.Go(func() { runner(cpu, t.heats[cpu], t.laps[cpu]) })
	}
	return t
}

func (t *track) close() {
	for _, h := range t.heats {
		close(h)
	}
	t.wg.Wait()
}

// runner never unlocks its thread, which therefore ends with it: no later
// goroutine finds itself pinned.
func runner(cpu int, heats <-chan heat, laps chan<- lap) {
	runtime.LockOSThread()
	pin(cpu)
	for h := range heats {
		for time.Now().Before(h.at) {
			continue
		}
		l := lap{begin: time.Now()}
		l.err = h.loop(h.n)
		l.end = time.Now()
		laps <- l
	}
}

func (t *track) race(contenders []peers.Contender, rounds int) (sample, error) {
	times := series{}
	for range rounds {
		for _, c := range contenders {
			ns, ok, err := t.heat(c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if ok {
				times.add(sample{c.Name: ns})
			}
		}
	}
	sum := sample{}
	for _, c := range contenders {
		if len(times[c.Name]) == 0 {
			return nil, errors.New("the two threads never began together: the machine is too busy, or has one CPU")
		}
		sum[c.Name] = stats.Quantile(times[c.Name], lowQuartile)
	}
	return sum, nil
}

// heat returns the nanoseconds per ID; it is not ok if one thread was late.
func (t *track) heat(c peers.Contender) (ns float64, ok bool, err error) {
	const ids = 800
	h := heat{at: time.Now().Truncate(time.Millisecond).Add(2 * time.Millisecond), n: ids, loop: c.Loop}
	for _, to := range t.heats {
		to <- h
	}
	a, b := <-t.laps[0], <-t.laps[1]
	begin, end := a.begin, a.end
	if b.begin.Before(begin) {
		begin = b.begin
	}
	if b.end.After(end) {
		end = b.end
	}
	ok = a.begin.Sub(b.begin).Abs() < maxSkew
	return float64(end.Sub(begin)) / (2 * ids), ok, errors.Join(a.err, b.err)
}
