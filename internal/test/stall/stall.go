// Package stall measures how long the process was held up: by a machine that was
// paused, or that had no time for it. Tests that bound a duration take it off.
package stall

import (
	"slices"
	"sync"
	"time"
)

// The watcher sleeps for a pause at a time. Being late by less than tolerated is
// the scheduler's ordinary work.
const (
	pause     = 10 * time.Millisecond
	tolerated = 40 * time.Millisecond
)

// A gap is a time in which the watcher was late.
type gap struct{ from, to time.Time }

var (
	mu    sync.Mutex
	awake = time.Now() // when the watcher last was
	late  []gap
)

func init() {
	go func() {
		for {
			time.Sleep(pause)
			mu.Lock()
			late, awake = gaps(), time.Now()
			mu.Unlock()
		}
	}()
}

// gaps are all until now. The caller holds mu.
func gaps() []gap {
	now, due := time.Now(), awake.Add(pause)
	if now.Sub(due) <= tolerated {
		return late
	}
	return append(slices.Clip(late), gap{due, now})
}

// Since returns for how long the process was held up since a time.
func Since(t time.Time) (sum time.Duration) {
	mu.Lock()
	defer mu.Unlock()
	for _, g := range gaps() {
		if g.to.After(t) {
			sum += min(g.to.Sub(g.from), g.to.Sub(t))
		}
	}
	return sum
}

// Took is how long something has taken that began at a time, without what the
// process was held up.
func Took(began time.Time) time.Duration { return time.Since(began) - Since(began) }
