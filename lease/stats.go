package lease

import "time"

// Stats is what a lease holds, and what it has been through.
type Stats struct {
	Datacenter, Worker int64
	Owner              string    // the token of this grant: host/process/random
	Since              time.Time // when this lease acquired the worker
	Until              time.Time // the end of the window that the store has acknowledged

	// Extensions counts the windows after the first. Failures counts the
	// attempts at getting one that failed, Losses the workers that another
	// process, or a copy of this one, has taken. Regressions counts acknowledged
	// writes that the store has forgotten: alert on any.
	Extensions, Failures, Losses, Regressions uint64

	// FailingSince and Failure are when the store, or the search for a free
	// worker, began to fail, and the last error. They are zero while all is
	// well.
	FailingSince time.Time
	Failure      error
}

type counts struct{ Extensions, Failures, Losses, Regressions uint64 }

// Stats returns the state of the lease.
func (l *Lease) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.currentLocked()
	return Stats{
		Datacenter:   w.datacenter,
		Worker:       w.worker,
		Owner:        w.token.holder,
		Since:        w.acquired,
		Until:        w.until(),
		Extensions:   l.counts.Extensions,
		Failures:     l.counts.Failures,
		Losses:       l.counts.Losses,
		Regressions:  l.counts.Regressions,
		FailingSince: l.outage.since,
		Failure:      l.outage.last,
	}
}

// Health is nil while the lease has a window. Otherwise it is the error that the
// generator returns: the window has ended and the store fails or no worker is
// free, or the lease has ended. It does not ask the store. A store that fails
// within the window is not an error; see Stats.FailingSince. A probe calls
// [snowflake.Generator.Health], which includes this.
func (l *Lease) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.currentLocked()
	switch {
	case l.ended:
		return errEnded
	case !w.lost && w.acknowledged > max(l.now(), w.used(), l.outage.need):
		return nil
	case l.outage.attempts > 0:
		return l.refusal(w.grant.Load())
	}
	return l.fencedError(w.grant.Load(), errNothing)
}
