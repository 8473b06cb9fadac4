package main

import (
	"context"
	"sync"
	"time"

	"gorm.io/gorm"
)

// writer is a program that writes orders of two lines, one after another.
type writer struct {
	db    *gorm.DB
	order func() any // returns a new order, as a pointer to a model

	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	written int           // the number of orders since the last call of lap
	errs    []error       // errors since then, after which the writer tried again
	longest time.Duration // the longest time between two orders since then
}

// startWriter starts a program that writes the orders that order returns, until the method end
// is called or ctx ends.
func startWriter(ctx context.Context, db *gorm.DB, order func() any) *writer {
	ctx, stop := context.WithCancel(ctx)
	w := &writer{db: db.WithContext(ctx), order: order, stop: stop, done: make(chan struct{})}
	go w.run(ctx)
	return w
}

// run writes orders until ctx ends.
func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	for last := time.Now(); ctx.Err() == nil; {
		err := w.db.Create(w.order()).Error
		if ctx.Err() != nil && err != nil {
			return // the end of ctx has interrupted Create, which rolls the order back
		}
		w.record(time.Since(last), err)
		if err == nil {
			last = time.Now()
		}
		time.Sleep(time.Millisecond)
	}
}

// record counts an order, or the error of an attempt to write it. gap is the time since the
// order before it.
func (w *writer) record(gap time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.errs = append(w.errs, err)
		return
	}
	w.written++
	w.longest = max(w.longest, gap)
}

// lap returns the results since the last call of lap, and starts to count again.
func (w *writer) lap() (written int, errs []error, longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written, errs, longest = w.written, w.errs, w.longest
	w.written, w.errs, w.longest = 0, nil, 0
	return written, errs, longest
}

// end stops the writer and waits until it has finished its order.
func (w *writer) end() {
	w.stop()
	<-w.done
}
