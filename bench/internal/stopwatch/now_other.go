//go:build !(gc && amd64)

package stopwatch

import "time"

// start is the time from which now counts.
var start = time.Now()

// now returns the nanoseconds since start. It reads the clock, because this package reads a
// counter of the processor on amd64 only. The measured call then finds the clock's code and
// data in the cache, so the call is less cold than on amd64.
func now() uint64 { return uint64(time.Since(start)) }
