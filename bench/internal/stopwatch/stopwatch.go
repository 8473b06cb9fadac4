// Package stopwatch times a call without reading the clock, because the call itself may
// read the clock. A call that finds the clock's code and data in the cache, because they
// were read a moment ago, is not a cold call.
package stopwatch

import "time"

// Stopwatch converts the processor's counts to nanoseconds.
type Stopwatch struct{ perCount float64 }

// New measures the duration of a count, for 50 ms.
func New() Stopwatch {
	start, count := time.Now(), now()
	time.Sleep(50 * time.Millisecond)
	return Stopwatch{float64(time.Since(start)) / float64(now()-count)}
}

// Time returns the nanoseconds that one call of f takes.
func (s Stopwatch) Time(f func() error) (float64, error) {
	start := now()
	err := f()
	return float64(now()-start) * s.perCount, err
}

// During calls f again and again until the time has passed.
func (s Stopwatch) During(d time.Duration, f func() error) error {
	for start := now(); float64(now()-start)*s.perCount < float64(d); {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
