package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/bench/internal/stats"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

const leaseTable = "gormflake_bench_workers"

// first measures what a lease adds to the start of a process: the time from
// lease.Acquire to the first ID, over a connection that is open, with a table
// that is there. That the store looks after the table and the database's
// settings, as it does once in each process, is part of it. Median of the windows.
func first(tills []*till) experiment {
	var windows []window
	for _, t := range tills {
		windows = append(windows, window{t.name, func() (float64, error) { return untilFirst(t.db) }})
	}
	return experiment{
		name: "first",
		run: func(e effort) (sample, error) {
			if err := renewWorkers(tills); err != nil {
				return nil, err
			}
			s, err := interleave(windows, e.windows(60), 0.5)
			if err != nil {
				return nil, err
			}
			return s, dropWorkers(tills)
		},
		report: func(s series) report { return reportFirst(tills, s) },
	}
}

// renewWorkers leaves a table in which no worker was ever used: one that was
// used a moment ago might have to be waited for.
func renewWorkers(tills []*till) error {
	if err := dropWorkers(tills); err != nil {
		return err
	}
	for _, t := range tills {
		if _, err := untilFirst(t.db); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func dropWorkers(tills []*till) error {
	for _, t := range tills {
		if err := t.db.Migrator().DropTable(leaseTable); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func untilFirst(db *gorm.DB) (ns float64, err error) {
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	start := time.Now()
	store := sqllease.New(db, sqllease.WithTable(leaseTable), sqllease.WithLogger(log))
	l, err := lease.Acquire(ctx, store, snowflake.TwitterLayout(), lease.WithLogger(log))
	if err != nil {
		return 0, err
	}
	gen, err := snowflake.New(l)
	if err != nil {
		return 0, err
	}
	if _, err := gen.Next(ctx); err != nil {
		return 0, err
	}
	ns = float64(time.Since(start))
	return ns, gen.Close(ctx)
}

func reportFirst(tills []*till, s series) report {
	t := table{title: "From lease.Acquire to the first ID", header: []string{"", "ms"}}
	for _, till := range tills {
		t.rows = append(t.rows, []string{till.name, number(stats.Median(s[till.name]) / 1e6)})
	}
	return report{tables: []table{t}}
}

// burst measures Next on one goroutine while the sequence does not limit it: 1,000
// IDs right after a millisecond has begun, lower quartile of the windows. One reading
// of the clock is measured as well: no ID costs less without the counter.
func burst(contenders []peers.Contender) experiment {
	const ids = 1000
	var windows []window
	for _, c := range append(slices.Clone(contenders), peers.Contender{Name: oneClock, Loop: readClock}) {
		windows = append(windows, window{c.Name, func() (float64, error) {
			atMillisecond()
			return timed(ids, func() error { return c.Loop(ids) })
		}})
	}
	return experiment{
		name: "next",
		run: func(e effort) (sample, error) {
			s, err := interleave(windows, e.windows(250), lowQuartile)
			if err != nil {
				return nil, err
			}
			for _, name := range []string{peers.Ours, peers.Leased} {
				if s[allocsOf(name)], err = allocationsOf(contenders, name); err != nil {
					return nil, err
				}
			}
			return s, nil
		},
		report: reportBurst(contenders),
	}
}

func reportBurst(contenders []peers.Contender) func(series) report {
	return func(s series) report {
		return report{
			figures: []figure{
				versus("Next, one goroutine, not at the cap", s, peers.Ours, peers.Bwmarrin, atMost(nextTarget, "×")),
				plain("Next, allocations per ID", s[allocsOf(peers.Ours)], atMost(0, "")),
				versus("Next, leased, one goroutine", s, peers.Leased, peers.Bwmarrin, atMost(nextTarget, "×")),
				plain("Next, leased, allocations per ID", s[allocsOf(peers.Leased)], atMost(0, "")),
			},
			tables: []table{perContender("Next, one goroutine, ns/ID", "ns/ID", append(slices.Clone(contenders), peers.Contender{Name: oneClock}), s)},
		}
	}
}

func readClock(n int) error {
	for range n {
		busy.sink += int(time.Since(busy.start))
	}
	return nil
}

func allocsOf(name string) string { return name + ", " + allocs }

func allocationsOf(contenders []peers.Contender, name string) (float64, error) {
	i := slices.IndexFunc(contenders, func(c peers.Contender) bool { return c.Name == name })
	return allocations(1000, func() error { return contenders[i].Loop(1) })
}

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
	const patience = 1000 // rounds at most until each contender has run
	times := series{}
	for n := 0; n < rounds || len(times) < len(contenders) && n < patience; n++ {
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
	if len(times) < len(contenders) {
		return nil, errors.New("the two threads never began together: the machine is too busy, or has one CPU")
	}
	sum := sample{}
	for name, ns := range times {
		sum[name] = stats.Quantile(ns, lowQuartile)
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

// crowd are the numbers of goroutines that saturate tries.
var crowd = []int{1, 8}

// saturate measures what a generator costs at its cap: goroutines ask for IDs
// as fast as they can for 400 ms, and the process's CPU time is read along with the
// clock. All generators of 12 bits are equally fast here, at 244 ns/ID; the
// question is whether they leave the CPU to the program while they wait.
func saturate(contenders []peers.Contender) experiment {
	var capped []peers.Contender
	for _, c := range contenders {
		if c.Capped {
			capped = append(capped, c)
		}
	}
	return experiment{
		name: "cap",
		run: func(e effort) (sample, error) {
			s := sample{}
			for _, c := range capped {
				for _, g := range crowd {
					if err := saturateOne(c, g, time.Duration(e.windows(400))*time.Millisecond, s); err != nil {
						return nil, fmt.Errorf("%s: %w", c.Name, err)
					}
				}
			}
			return s, nil
		},
		report: func(s series) report { return reportSaturate(capped, s) },
	}
}

func rateOf(name string, g int) string { return fmt.Sprintf("%s, %d, rate", name, g) }

func cpuOf(name string, g int) string { return fmt.Sprintf("%s, %d, cpu", name, g) }

func saturateOne(c peers.Contender, g int, d time.Duration, s sample) error {
	atMillisecond()
	before, err := cpuTime()
	if err != nil {
		return err
	}
	start := time.Now()
	ids, err := crowded(c, g, start.Add(d))
	elapsed := time.Since(start)
	if err != nil {
		return err
	}
	after, err := cpuTime()
	s[rateOf(c.Name, g)] = float64(ids) / elapsed.Seconds()
	s[cpuOf(c.Name, g)] = float64(after-before) / float64(ids)
	return err
}

// crowded makes IDs on g goroutines until the end, and returns their number.
func crowded(c peers.Contender, g int, end time.Time) (int, error) {
	const chunk = 256 // between readings of the clock, which then cost nothing
	var wg sync.WaitGroup
	counts, errs := make([]int, g), make([]error, g)
	for i := range g {
		wg.Go(func() {
			n := 0
			for time.Now().Before(end) && errs[i] == nil {
				errs[i] = c.Loop(chunk)
				n += chunk
			}
			counts[i] = n
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(errs...)
}

func reportSaturate(capped []peers.Contender, s series) report {
	var r report
	t := table{
		title:  "At the cap of 12 bits, 4,096,000 IDs/s",
		header: []string{"generator", "of the cap, G=1", "G=8", "CPU ns/ID, G=1", "G=8"},
	}
	for _, g := range crowd {
		share := scaled(s[rateOf(peers.Ours, g)], 100.0/peers.Cap)
		r.figures = append(r.figures,
			plain(fmt.Sprintf("at the 12-bit cap, G=%d, share of 4,096,000/s", g), share, atLeast(99, "%")).
				against(s[rateOf(peers.Bwmarrin, g)], 100.0/peers.Cap),
			plain(fmt.Sprintf("at the 12-bit cap, G=%d, CPU per ID", g), s[cpuOf(peers.Ours, g)], atMost(55, "ns")).
				against(s[cpuOf(peers.Bwmarrin, g)], 1))
	}
	for _, c := range capped {
		row := []string{c.Name}
		for _, g := range crowd {
			row = append(row, fmt.Sprintf("%.1f %%", stats.Median(s[rateOf(c.Name, g)])*100/peers.Cap))
		}
		for _, g := range crowd {
			row = append(row, fmt.Sprintf("%.0f", stats.Median(s[cpuOf(c.Name, g)])))
		}
		t.rows = append(t.rows, row)
	}
	r.tables = []table{t}
	return r
}
