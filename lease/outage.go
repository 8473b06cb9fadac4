package lease

import (
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// An outage is a time in which no window could be had: the store failed, or no
// worker was free.
type outage struct {
	attempts int // zero: there is none
	since    time.Time
	last     error
	need     int64 // the tick that the generator was refused last, in Unix milliseconds
	lost     bool  // the worker too
	fenced   bool  // and the window is over, which has been logged
}

func (l *Lease) failed(err error) {
	h := l.current()
	l.mu.Lock()
	o := &l.outage
	first := o.attempts == 0
	if first {
		o.since = time.Now()
	}
	o.attempts++
	o.last, o.lost = err, h.lost
	fenced := !o.fenced && max(l.now(), o.need) >= h.known.Bound
	o.fenced = o.fenced || fenced
	l.counts.Failures++
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}

	attrs := append(h.attrs(), "error", err)
	switch {
	case fenced:
		l.log.Error("lease: fenced, the window has ended and nothing is issued", attrs...)
	case first:
		l.log.Warn("lease: the window cannot be extended", attrs...)
	}
}

func (l *Lease) failing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outage.attempts > 0
}

func (l *Lease) answered() {
	l.mu.Lock()
	o := l.outage
	l.outage = outage{}
	l.mu.Unlock()
	if o.attempts > 0 {
		l.log.Info("lease: the window is extended again", append(l.current().attrs(), "after", time.Since(o.since), "attempts", o.attempts)...)
	}
}

// refusal is the error of the outage for a generator that issues under held.
func (l *Lease) refusal(held *snowflake.Grant) error {
	o := l.outage
	err := fmt.Errorf("%d attempts have failed in the last %v: %w", o.attempts, time.Since(o.since).Round(time.Millisecond), o.last)
	if o.lost {
		err = fmt.Errorf("%w, and no other was found: %w", ErrLost, err)
	}
	return l.fenced(held, err)
}
