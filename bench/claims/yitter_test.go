package claims_test

import (
	"testing"
	"time"

	"github.com/yitter/idgenerator-go/idgen"
)

// yitter returns a function that takes IDs from a new generator. Method 1 takes IDs of the
// future when the sequence is used up. Method 2 waits for the next millisecond.
func yitter(worker uint16, workerBits, sequenceBits byte, method uint16) func() (int64, error) {
	options := idgen.NewIdGeneratorOptions(worker)
	options.Method = method
	options.WorkerIdBitLength, options.SeqBitLength = workerBits, sequenceBits
	gen := idgen.NewDefaultIdGenerator(options)
	return func() (int64, error) { return gen.NewLong(), nil }
}

// TestYitterWorkersCollideBeyond16Bits checks that two different workers issue the same IDs.
// The library shifts the worker to the left by the bits of the sequence, in a number of 16
// bits. The bits that are shifted out are lost, so with 12 bits of sequence workers 0 and 16
// are the same.
func TestYitterWorkersCollideBeyond16Bits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b                     uint16
		workerBits, sequenceBits byte
	}{{0, 16, 10, 12}, {15, 31, 10, 12}, {1, 65, 8, 10}} {
		inRestartedProcess(t, func(t *testing.T) {
			a, b := yitter(c.a, c.workerBits, c.sequenceBits, 1), yitter(c.b, c.workerBits, c.sequenceBits, 1)
			if n := repeats(take(t, 100, a), take(t, 100, b)); n != 100 {
				t.Errorf("workers %d and %d at %d+%d bits: %d of 100 repeat, want all", c.a, c.b, c.workerBits, c.sequenceBits, n)
			}
		})
	}
}

// TestYitterBorrowsFromTheFuture checks that method 1, the default, uses up to 2,000
// milliseconds of the future, and that a process that is restarted within them repeats
// IDs.
func TestYitterBorrowsFromTheFuture(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		// A sequence of 6 bits has 64 numbers in a millisecond, of which the library reserves 5.
		const n, perMillisecond = 50_000, 59
		options := idgen.NewIdGeneratorOptions(1)
		gen := idgen.NewDefaultIdGenerator(options)
		last := take(t, n, func() (int64, error) { return gen.NewLong(), nil })
		// The milliseconds are above the 6 bits of the worker and the 6 of the sequence.
		ahead := time.Until(time.UnixMilli(options.BaseTime + last[n-1]>>12))
		if ahead < 800*time.Millisecond {
			t.Errorf("the last ID is %v ahead of the clock, want %v", ahead, n/perMillisecond*time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		if got := repeats(last, take(t, 10_000, yitter(1, 6, 6, 1))); got != 10_000 {
			t.Errorf("%d of 10,000 IDs repeat 100 ms later, want all", got)
		}
	})
}

// A process that restarts after its clock was set back issues the same IDs again, with both
// methods, because the library does not store up to which time it has issued IDs.
func TestYitterRestartWithTheClockSetBackRepeats(t *testing.T) {
	t.Parallel()
	for _, method := range []uint16{1, 2} {
		var runs [2][]int64
		for i := range runs {
			inRestartedProcess(t, func(t *testing.T) { runs[i] = take(t, 1000, yitter(1, 6, 6, method)) })
		}
		if n := repeats(runs[0], runs[1]); n != 1000 {
			t.Errorf("method %d: %d of 1000 IDs repeat, want all", method, n)
		}
	}
}

// TestYitterStepBackGoesDown checks that IDs are lower after the clock steps back, and that
// each further ID is lower again. It simulates the step back by a base time that steps
// ahead.
func TestYitterStepBackGoesDown(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		worker := idgen.NewSnowWorkerM1(idgen.NewIdGeneratorOptions(1)).(*idgen.SnowWorkerM1)
		before := worker.NextId()
		worker.BaseTime += 1000
		second, third := worker.NextId(), worker.NextId()
		if second >= before || third >= second {
			t.Errorf("%d, then %d and %d, want them to go down", before, second, third)
		}
	})
}

// TestYitterStepsBackRepeat checks that IDs repeat after several steps back of the clock. In
// the IDs, the library numbers the steps back from 1 to 4, and then begins again at 1. The
// test makes six steps back by 10 ms, whose milliseconds overlap, so a number that is used
// again repeats IDs. The test simulates each step by a base time that steps ahead.
func TestYitterStepsBackRepeat(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		worker := idgen.NewSnowWorkerM1(idgen.NewIdGeneratorOptions(1)).(*idgen.SnowWorkerM1)
		seen := map[int64]bool{}
		repeated := 0
		for range 6 {
			worker.NextId()
			worker.BaseTime += 10
			for range 200 {
				id := worker.NextId()
				if seen[id] {
					repeated++
				}
				seen[id] = true
			}
			time.Sleep(15 * time.Millisecond)
		}
		if repeated == 0 {
			t.Error("no ID repeats")
		}
	})
}

// TestYitterMethod2RepeatsAfterAStepBack checks that a generator with method 2, whose clock
// steps back by a millisecond, issues the IDs of that millisecond again. The test simulates
// the step by a base time that steps ahead.
func TestYitterMethod2RepeatsAfterAStepBack(t *testing.T) {
	t.Parallel()
	inRestartedProcess(t, func(t *testing.T) {
		worker := idgen.NewSnowWorkerM2(idgen.NewIdGeneratorOptions(1)).(*idgen.SnowWorkerM2)
		next := func() (int64, error) { return worker.NextId(), nil }
		before := take(t, 50, next)
		time.Sleep(time.Millisecond)
		take(t, 1, next)
		worker.BaseTime++
		if n := repeats(before, take(t, 50, next)); n != 50 {
			t.Errorf("%d of 50 repeat, want all", n)
		}
	})
}

// The default layout has 12 bits below the milliseconds, so its IDs are exact in JavaScript
// until 2089.
func TestYitterDefaultsFitInto53Bits(t *testing.T) {
	t.Parallel()
	end := time.UnixMilli(idgen.NewIdGeneratorOptions(1).BaseTime + 1<<(53-12))
	if end.Year() != 2089 {
		t.Errorf("53 bits last until %v, want 2089", end)
	}
}
