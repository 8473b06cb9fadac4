package lease

import (
	"fmt"
	"log/slog"
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
	fenced   bool  // and nothing is issued, which has been logged
}

func (l *Lease) failed(err error) {
	w := l.current()
	l.mu.Lock()
	o := &l.outage
	first := o.attempts == 0
	if first {
		o.since = time.Now()
	}
	o.attempts++
	o.last, o.lost = err, w.lost
	newly := !o.fenced && (w.lost || max(l.now(), o.need) >= w.acknowledged)
	o.fenced = o.fenced || newly
	l.counts.Failures++
	attrs := append(w.attrs(), "error", err) // under the lock: a caller that gives up does not hold storeMu
	l.mu.Unlock()
	select {
	case l.retry <- struct{}{}:
	default:
	}

	switch {
	case newly:
		l.log.Error("lease: fenced, the window has ended and nothing is issued", attrs...)
	case first:
		l.log.Warn("lease: the window cannot be extended", attrs...)
	}
}

// level is the one at which the present outage was logged, or info.
func (l *Lease) level() slog.Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outage.level()
}

func (l *Lease) failing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outage.attempts > 0
}

// recovered logs the end of an outage at the level of its beginning: who saw
// the one is to see the other.
func (l *Lease) recovered() {
	l.mu.Lock()
	o := l.outage
	l.outage = outage{}
	l.mu.Unlock()
	if o.attempts > 0 {
		l.log.Log(l.ctx, o.level(), "lease: the window is extended again",
			append(l.current().attrs(), "after", time.Since(o.since), "attempts", o.attempts)...)
	}
}

func (o *outage) level() slog.Level {
	switch {
	case o.fenced:
		return slog.LevelError
	case o.attempts > 0:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// refusal is the error of the outage for a generator that issues under held.
func (l *Lease) refusal(held *snowflake.Grant) error {
	o := l.outage
	err := fmt.Errorf("%d attempts have failed in the last %v: %w", o.attempts, time.Since(o.since).Round(time.Millisecond), o.last)
	if o.lost {
		err = fmt.Errorf("%w, and no other was found: %w", ErrLost, err)
	}
	return l.fencedError(held, err)
}
