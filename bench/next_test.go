package bench_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"

	"github.com/gormflake/gormflake/bench/internal/cpu"
	"github.com/gormflake/gormflake/bench/internal/peers"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// BenchmarkNext measures Next on one goroutine while the sequence does not limit it. It
// takes 1,000 IDs right after a millisecond has begun. It also measures a reading of the
// clock, alone and with a compare-and-swap, because every ID of a generator without a lock
// costs at least these.
func BenchmarkNext(b *testing.B) {
	const ids = 1000
	all := contenders(b, peers.Contender{Name: "time.Since", Loop: readClock}, peers.Contender{Name: "time.Since+CAS", Loop: readAndSwap})
	compare(b, namesOf(all), func(b *testing.B) results {
		var windows []window
		for _, c := range all {
			windows = append(windows, window{c.Name, func() float64 {
				atMillisecond()
				return nanosPerStep(b, ids, func() error { return c.Loop(ids) })
			}})
		}
		m := quantiles(collect(windows, rounds(250)), lowQuartile)
		for _, c := range all {
			m[c.Name]["allocs"] = testing.AllocsPerRun(1000, func() { must(b, c.Loop(1)) })
		}
		return m
	})
}

// readClock reads the monotonic clock n times.
func readClock(n int) error {
	for range n {
		busy.sink += int(time.Since(busy.start))
	}
	return nil
}

// swapped is the number that readAndSwap raises.
var swapped atomic.Uint64

// readAndSwap reads the monotonic clock n times, and raises a number each time by a
// compare-and-swap.
func readAndSwap(n int) error {
	for range n {
		last := swapped.Load()
		busy.sink += int(time.Since(busy.start))
		swapped.CompareAndSwap(last, last+1)
	}
	return nil
}

// BenchmarkNextParallel measures Next on two threads at once, each on its own CPU. Both
// spin until the same millisecond, and take 800 IDs each. A window is the time until the
// later thread ends, divided by all IDs.
//
// A benchmark of a thousand goroutines would measure the scheduler instead.
func BenchmarkNextParallel(b *testing.B) {
	const patience = 1000 // maximum of rounds until each contender has run
	all := contenders(b)
	compare(b, namesOf(all), func(b *testing.B) results {
		times := map[string][]float64{}
		for n := 0; n < rounds(225) || len(times) < len(all) && n < patience; n++ {
			for _, c := range all {
				if ns, ok := together(b, c); ok {
					times[c.Name] = append(times[c.Name], ns)
				}
			}
		}
		if len(times) < len(all) {
			b.Skip("the two threads never began together: the machine is too busy, or has one CPU")
		}
		return quantiles(times, lowQuartile)
	})
}

// together runs the contender on two threads at once, and returns the nanoseconds per ID. It
// returns false if one thread began more than maxSkew later than the other.
func together(b *testing.B, c peers.Contender) (ns float64, ok bool) {
	b.Helper()
	const ids, maxSkew = 800, 3 * time.Microsecond
	var laps [2]struct {
		begin, end time.Time
		err        error
	}
	var threads sync.WaitGroup
	at := time.Now().Truncate(time.Millisecond).Add(2 * time.Millisecond)
	for i := range laps {
		threads.Go(func() {
			runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
			cpu.Pin(i)
			for time.Now().Before(at) {
				continue
			}
			laps[i].begin = time.Now()
			laps[i].err = c.Loop(ids)
			laps[i].end = time.Now()
		})
	}
	threads.Wait()
	must(b, errors.Join(laps[0].err, laps[1].err))
	skew := laps[1].begin.Sub(laps[0].begin)
	// took is the time from the earlier begin to the later end. Both ends and the skew are
	// relative to the begin of the first thread.
	took := max(laps[0].end.Sub(laps[0].begin), laps[1].end.Sub(laps[0].begin)) - min(0, skew)
	return float64(took) / (2 * ids), skew.Abs() < maxSkew
}

// BenchmarkCap measures the cost of a generator at its cap. Goroutines take IDs as fast
// as they can for 400 ms. With 12 bits of sequence, every generator has the same cap, which is
// 4,096 IDs per millisecond, or one each 244 ns. So the benchmark shows whether a generator
// leaves the CPU to the program while it waits.
func BenchmarkCap(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			all := slices.DeleteFunc(contenders(b), func(c peers.Contender) bool { return !c.Capped })
			compare(b, namesOf(all), func(b *testing.B) results {
				m := results{}
				for _, c := range all {
					m[c.Name] = saturate(b, c, goroutines)
				}
				return m
			})
		})
	}
}

// saturate takes IDs for some time at the full rate. It returns the time and the CPU time per
// ID, and the share of the rate that 12 bits of sequence allow.
func saturate(b *testing.B, c peers.Contender, goroutines int) metrics {
	b.Helper()
	atMillisecond()
	before, err := cpu.Time()
	must(b, err)
	start := time.Now()
	ids := takeUntil(b, c, goroutines, start.Add(time.Duration(rounds(400))*time.Millisecond))
	elapsed := time.Since(start)
	after, err := cpu.Time()
	must(b, err)
	return metrics{
		"ns/op":     float64(elapsed) / ids,
		"cpu-ns/op": float64(after-before) / ids,
		"%cap":      100 * ids / elapsed.Seconds() / peers.Cap,
	}
}

// takeUntil takes IDs until the end, and returns their number.
func takeUntil(b *testing.B, c peers.Contender, goroutines int, end time.Time) (ids float64) {
	b.Helper()
	const chunk = 256 // between readings of the clock, whose cost is then negligible
	var wg sync.WaitGroup
	counts, errs := make([]int, goroutines), make([]error, goroutines)
	for i := range goroutines {
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
	must(b, errors.Join(errs...))
	for _, n := range counts {
		ids += float64(n)
	}
	return ids
}

// BenchmarkFill measures blocks of IDs right after a millisecond has begun, on a layout
// whose sequence does not limit them. It compares them with loops that take 1,000 single
// IDs.
func BenchmarkFill(b *testing.B) {
	gen, node := generator(b, 2, snowflake.WithLayout(wide())), node(b)
	next, dst := nexts(gen), make([]types.ID, 1000)
	// blocks returns a window that fills as many blocks, each of n IDs.
	blocks := func(peer string, blocks, n int, fill func([]types.ID) error) window {
		return window{peer, func() float64 {
			atMillisecond()
			return nanosPerStep(b, blocks*n, func() (err error) {
				for range blocks {
					err = errors.Join(err, fill(dst[:n]))
				}
				return err
			})
		}}
	}
	fill := func(ids []types.ID) error { return gen.Fill(context.Background(), ids) }
	interleave(b, 250, lowQuartile, []window{
		blocks("Fill1000", 200, 1000, fill), blocks("Fill100", 500, 100, fill), blocks("Next", 1, 1000, next), blocks(peers.Bwmarrin, 1, 1000, node),
	})
}

// BenchmarkLag measures a burst of 40,000 IDs, about as many as ten milliseconds have at 12
// bits. Before the burst is a pause, after which a generator with WithLag may issue the
// unused IDs of the last ten milliseconds.
func BenchmarkLag(b *testing.B) {
	ids := make([]types.ID, 40_000)
	// burst returns a window that takes all IDs at once, after the pause.
	burst := func(peer string, fill func([]types.ID) error) window {
		return window{peer, func() float64 {
			time.Sleep(15 * time.Millisecond)
			return nanosPerStep(b, 1, func() error { return fill(ids) })
		}}
	}
	interleave(b, 20, 0.5, []window{
		burst("lag10ms", nexts(generator(b, 2, snowflake.WithLag(10*time.Millisecond)))),
		burst("nolag", nexts(generator(b, 3))),
		burst(peers.Bwmarrin, node(b)),
	})
}

// generator returns a generator of gormflake under a worker of its own.
func generator(b *testing.B, worker int64, opts ...snowflake.Option) *snowflake.Generator {
	b.Helper()
	gen, err := snowflake.New(snowflake.Static(0, worker), opts...)
	must(b, err)
	b.Cleanup(func() { must(b, gen.Close(context.Background())) })
	return gen
}

// wide returns a layout with a sequence of 20 bits, a million IDs per millisecond. A
// window takes fewer, so the benchmark measures the code and not its wait.
func wide() snowflake.Layout {
	l := snowflake.TwitterLayout()
	l.DatacenterBits, l.WorkerBits, l.SequenceBits = 0, 2, 20
	return l
}

// nexts returns a function that takes IDs one by one.
func nexts(gen *snowflake.Generator) func([]types.ID) error {
	ctx := context.Background()
	return func(ids []types.ID) (err error) {
		for i := range ids {
			if ids[i], err = gen.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// node returns a function that takes IDs one by one from bwmarrin/snowflake.
func node(b *testing.B) func([]types.ID) error {
	b.Helper()
	node, err := bwmarrin.NewNode(2)
	must(b, err)
	return func(ids []types.ID) error {
		for i := range ids {
			ids[i] = types.ID(node.Generate())
		}
		return nil
	}
}
