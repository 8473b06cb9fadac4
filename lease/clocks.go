package lease

import (
	"fmt"
	"time"
)

// maxLead is how far IDs may be ahead of the clock before watchLead logs a warning.
const maxLead = time.Minute

// now returns the wall clock, which [WithClock] may replace, in Unix milliseconds.
func (c *config) now() int64 {
	if c.clock != nil {
		return c.clock().UnixMilli()
	}
	return time.Now().UnixMilli()
}

// bound returns the end of a window that starts at from, both in Unix milliseconds. It rounds
// the window up to a millisecond, and the end up to a whole tick, because the generator could
// not use a part of a tick. bound counts ticks from the Unix epoch, because the epoch of a
// layout is a whole number of ticks after the Unix epoch.
func (c *config) bound(from int64) int64 {
	return ceil(from+(c.window+time.Millisecond-1).Milliseconds(), c.layout.Tick.Milliseconds())
}

// believedNow returns the wall clock, in Unix milliseconds, as the generator believes it. The
// generator does not believe a jump of the clock beyond a limit (see [snowflake.WithMaxJump]),
// and believedNow then returns an error. The lease must not raise a bound by such a jump,
// because no extension lowers a bound again.
//
// believedNow asks the grant under which the generator issues. That is the grant of w, or,
// while w is a replacement that the generator has not asked for yet, the grant of served.
// Before the generator has issued an ID, it does not observe the clock. believedNow then adds
// to the time at which w was acquired the time that has elapsed since on the monotonic clock,
// and returns need if that is later.
func believedNow(need int64, w, served *heldWorker) (int64, error) {
	for _, issuing := range []*heldWorker{w, served} {
		if issuing == nil {
			continue
		}
		if grant := issuing.grant.Load(); grant != nil && !grant.Last().IsZero() {
			now, err := grant.Now()
			return now.UnixMilli(), err
		}
	}
	return max(need, w.acquired.UnixMilli()+time.Since(w.acquiredAt).Milliseconds()), nil
}

// clocks compare this process's clock with the store's clock, if there is one, and with
// the time in the IDs. A process whose clock is far ahead must not raise a bound,
// because no extension lowers a bound again, and so the worker would stay blocked. On the other
// hand a store with a wrong clock must not stop processes whose clocks are right.
type clocks struct {
	*config
	storeTime time.Time // the store's clock when it last agreed with this process's; zero if it never did
	agreedAt  time.Time // this process's monotonic clock at that moment
	warned    bool      // the log has a warning that the store's clock is behind
	farAhead  bool      // the log has a warning that IDs are far ahead of the clock
}

// check compares this process's clock (now, in Unix milliseconds) with the store's clock,
// storeTime. It returns nil if now is at most maxSkew ahead, or if storeTime is zero because
// the store has no clock. If now is further ahead, and starting is true because the process
// acquires its first worker, check returns an error.
//
// If now is further ahead and the process already has a worker, one of the clocks has jumped.
// To find out which, check takes the store's time at the moment at which the two clocks last
// agreed, and adds the time that has elapsed since on the monotonic clock. If now is more than
// maxSkew ahead of this sum too, this process's clock has jumped, and check returns an error.
// Otherwise the store's clock has jumped, and check only logs a warning, once. It also only
// logs the warning if the clocks have never agreed.
func (c *clocks) check(now int64, storeTime time.Time, starting bool) error {
	switch {
	case c.agrees(now, storeTime):
	case starting, !c.agreedAt.IsZero() && c.tooFarAhead(now, c.storeTime.Add(time.Since(c.agreedAt))):
		return fmt.Errorf("the clock shows %s and the store's %s: want at most WithMaxSkew(%v) ahead: correct the clock that is wrong",
			stamp(time.UnixMilli(now)), stamp(storeTime), c.maxSkew)
	case !c.warned:
		c.warned = true
		c.log.Warn("lease: the store's clock is behind this process's, which has not jumped: processes that start are refused until the wrong one is corrected",
			"store", stamp(storeTime), "clock", stamp(time.UnixMilli(now)))
	}
	return nil
}

// agrees reports whether this process's clock (now, in Unix milliseconds) is at most maxSkew
// ahead of the store's. If it is, agrees remembers the store's time and the present, with which
// check compares later. It also returns true for a zero storeTime, which means that the store
// has no clock.
func (c *clocks) agrees(now int64, storeTime time.Time) bool {
	if storeTime.IsZero() {
		return true
	}
	if c.tooFarAhead(now, storeTime) {
		return false
	}
	c.storeTime, c.agreedAt = storeTime, time.Now()
	if c.warned {
		c.warned = false
		c.log.Warn("lease: the store's clock agrees with this process's again")
	}
	return true
}

// tooFarAhead reports whether now, in Unix milliseconds, is more than maxSkew ahead of a
// time of the store's clock.
func (c *clocks) tooFarAhead(now int64, storeTime time.Time) bool {
	return milliseconds(now-storeTime.UnixMilli()) > c.maxSkew
}

// watchLead logs once when the worker's IDs are more than maxLead ahead of the clock, and once
// when they no longer are.
func (c *clocks) watchLead(w *heldWorker) {
	lead := milliseconds(w.lastTick() - c.now())
	if far := lead > maxLead; far != c.farAhead { // the state has changed since the last log message
		c.farAhead = far
		message := "lease: IDs are more than a minute ahead of the clock"
		if !far {
			message = "lease: IDs are no longer more than a minute ahead of the clock"
		}
		c.log.Warn(message, append(w.attrs(), "lead", max(0, lead))...)
	}
}
