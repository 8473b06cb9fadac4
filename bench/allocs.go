package main

import "runtime"

// allocs is the name of a count of allocations in a sample.
const allocs = "allocations"

// allocations returns how many one call of f makes, averaged over n calls and
// rounded down, since the runtime makes some of its own meanwhile.
func allocations(n int, f func() error) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if err := f(); err != nil { // what is allocated once is not counted
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / uint64(n)), nil
}
