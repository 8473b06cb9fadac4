// Package stall measures how long the process did not run, because the machine was paused
// or overloaded. Tests that limit a duration subtract this time.
package stall

import (
	"slices"
	"sync"
	"time"
)

// A goroutine, the watcher, sleeps for pause again and again. If it wakes up more than
// maxDelay too late, the process did not run. A shorter delay is ordinary scheduling.
const (
	pause    = 10 * time.Millisecond
	maxDelay = 40 * time.Millisecond
)

// gap is an interval in which the watcher was late.
type gap struct{ from, to time.Time }

var (
	mu        sync.Mutex
	lastRan   = time.Now() // when the watcher last ran
	gapsSoFar []gap        // of the process so far
)

// init starts the watcher, which runs as long as the process.
func init() {
	go func() {
		for {
			time.Sleep(pause)
			mu.Lock()
			gapsSoFar, lastRan = gaps(), time.Now()
			mu.Unlock()
		}
	}()
}

// gaps returns all gaps until now, including a gap from which the watcher has not woken up
// yet. The caller holds mu.
func gaps() []gap {
	now, due := time.Now(), lastRan.Add(pause)
	if now.Sub(due) <= maxDelay {
		return gapsSoFar
	}
	return append(slices.Clip(gapsSoFar), gap{from: due, to: now})
}

// Since returns for how long the process did not run since t.
func Since(t time.Time) (sum time.Duration) {
	mu.Lock()
	defer mu.Unlock()
	for _, g := range gaps() {
		if g.to.After(t) {
			sum += min(g.to.Sub(g.from), g.to.Sub(t)) // the part of the gap after t
		}
	}
	return sum
}

// Took returns the time since began, without the time in which the process did not run.
func Took(began time.Time) time.Duration { return time.Since(began) - Since(began) }
