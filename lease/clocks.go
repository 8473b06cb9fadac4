package lease

import (
	"context"
	"fmt"
	"math"
	"time"
)

// maxLead is how far IDs may be ahead of the clock before that is logged.
const maxLead = time.Minute

// now is the wall clock in Unix milliseconds.
func (c *config) now() int64 {
	if c.clock != nil {
		return c.clock().UnixMilli()
	}
	return time.Now().UnixMilli()
}

// bound is a window above from, rounded up to whole ticks, which the layout
// counts from the Unix epoch.
func (c *config) bound(from int64) int64 {
	return ceil(from+(c.window+time.Millisecond-1).Milliseconds(), c.layout.Tick.Milliseconds())
}

// believed is the wall clock as the generator believes it, which has one limit for
// jumps: see [snowflake.WithMaxJump]. The generator issues under w, or still under
// served, which w replaces. As long as it issues nothing, the clock of the start will
// do, or need, the tick that it asks for first.
func believed(need int64, w, served *heldWorker) (int64, error) {
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

// clocks compare this process's clock with the store's, where that has one, and
// with the IDs. A bound far ahead cannot be taken back, so neither a clock that was
// wrong from the start nor one that has jumped may cause it; but a store whose clock
// is wrong must not stop processes whose clocks are right.
type clocks struct {
	*config
	theirs  time.Time // the store's clock when ours was last not too far ahead of it; zero: never
	at      time.Time // the same on our monotonic clock
	warned  bool      // that the store's clock is behind
	leading bool      // IDs are far ahead of the clock, which was logged
}

// check refuses a clock that is too far ahead when the process starts. Later it
// refuses one that is also too far ahead of what the store's would show had it run on
// since the two last agreed: ours has jumped. Otherwise the store's has, and it warns.
// The store's time is zero where it has no clock.
func (c *clocks) check(now int64, theirs time.Time, starting bool) error {
	switch {
	case c.agrees(now, theirs):
	case starting, !c.at.IsZero() && c.tooFarAhead(now, c.theirs.Add(time.Since(c.at))):
		return fmt.Errorf("the clock shows %s and the store's %s: want at most WithMaxSkew(%v) ahead: correct the clock that is wrong",
			stamp(time.UnixMilli(now)), stamp(theirs), c.maxSkew)
	case !c.warned:
		c.warned = true
		c.log.Warn("lease: the store's clock is behind this process's, which has not jumped: processes that start are refused until the wrong one is corrected",
			"store", stamp(theirs), "clock", stamp(time.UnixMilli(now)))
	}
	return nil
}

// agrees reports whether our clock is not too far ahead of the store's, and notes
// when it was not.
func (c *clocks) agrees(now int64, theirs time.Time) bool {
	if theirs.IsZero() {
		return true
	}
	if c.tooFarAhead(now, theirs) {
		return false
	}
	c.theirs, c.at = theirs, time.Now()
	if c.warned {
		c.warned = false
		c.log.Warn("lease: the store's clock agrees with this process's again")
	}
	return true
}

func (c *clocks) tooFarAhead(now int64, theirs time.Time) bool {
	return milliseconds(now-theirs.UnixMilli()) > c.maxSkew
}

// watchLead logs once that the worker's IDs are far ahead of the clock, and once that
// they no longer are.
func (c *clocks) watchLead(w *heldWorker) {
	lead := milliseconds(w.used() - c.now())
	if far := lead > maxLead; far != c.leading {
		c.leading = far
		message := "lease: IDs are more than a minute ahead of the clock"
		if !far {
			message = "lease: IDs are no longer more than a minute ahead of the clock"
		}
		c.log.Warn(message, append(w.attrs(), "lead", max(0, lead))...)
	}
}

// milliseconds is n milliseconds, or the longest Duration if they are more than that,
// some 292 years: bounds and wrong clocks may be further apart.
func milliseconds(n int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-longest, min(n, longest))) * time.Millisecond
}

// ceil rounds up to a multiple of unit.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// stamp is a time as errors show it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
