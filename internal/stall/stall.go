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

// A watch keeps when the watcher was late.
type watch struct {
	mu    sync.Mutex
	awake time.Time // last
	late  []gap
}

type gap struct{ from, to time.Time }

var watcher = start()

func start() *watch {
	w := &watch{awake: time.Now()}
	go func() {
		for {
			time.Sleep(pause)
			w.wake()
		}
	}()
	return w
}

func (w *watch) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.asleep(time.Now()); ok {
		w.late = append(w.late, g)
	}
	w.awake = time.Now()
}

// asleep is what the watcher is late by at some time.
func (w *watch) asleep(now time.Time) (gap, bool) {
	g := gap{w.awake.Add(pause), now}
	return g, g.to.Sub(g.from) > tolerated
}

// Since returns for how long the process was held up since a time.
func Since(t time.Time) (sum time.Duration) {
	watcher.mu.Lock()
	defer watcher.mu.Unlock()
	all := watcher.late
	if g, ok := watcher.asleep(time.Now()); ok {
		all = append(slices.Clip(all), g)
	}
	for _, g := range all {
		if g.to.After(t) {
			sum += min(g.to.Sub(g.from), g.to.Sub(t))
		}
	}
	return sum
}

// Took is how long something has taken that began at a time, without what the
// process was held up.
func Took(began time.Time) time.Duration { return time.Since(began) - Since(began) }
