// Package stopwatch times one call without reading the clock, which is part of
// what is timed: a call that finds the clock's code and data in the cache, because
// they were read a moment ago, is not a cold one.
package stopwatch

import "time"

// A Stopwatch turns the processor's counts into nanoseconds.
type Stopwatch struct{ perCount float64 }

// New measures how long a count takes, for 50 ms.
func New() Stopwatch {
	start, count := time.Now(), now()
	time.Sleep(50 * time.Millisecond)
	return Stopwatch{float64(time.Since(start)) / float64(now()-count)}
}

// Time returns how many nanoseconds one call of f takes.
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
