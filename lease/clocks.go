package lease

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// maxLead is how far IDs may be ahead of the clock before that is logged.
const maxLead = time.Minute

// bound is a window above from, rounded up to whole ticks, which the layout
// counts from the Unix epoch.
func (c *config) bound(from int64) int64 {
	tick := c.layout.Tick.Milliseconds()
	return ceil(from+(c.window+time.Millisecond-1).Milliseconds(), tick)
}

// ceil rounds up to a multiple of unit.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// milliseconds is the longest Duration, some 292 years, for what is longer: bounds
// and wrong clocks may be further apart.
func milliseconds(n int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-longest, min(n, longest))) * time.Millisecond
}

// now is the wall clock in Unix milliseconds.
func (c *config) now() int64 {
	if c.clock != nil {
		return c.clock().UnixMilli()
	}
	return time.Now().UnixMilli()
}

// believed is the wall clock as the generator believes it, which has one limit for
// jumps: see [snowflake.WithMaxJump]. As long as no generator issues, the clock of
// the start will do, or the one at need, by which a generator begins.
func (l *Lease) believed(w *heldWorker, need int64) (int64, error) {
	for _, issuing := range []*heldWorker{w, l.served()} {
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

// A skewCheck holds our clock against the store's, where that has one. A bound far
// ahead, which nothing takes back, is to come of neither a clock that was wrong
// from the start nor of one that has jumped; but a store whose clock is wrong is
// not to stop those whose clocks are right.
type skewCheck struct {
	*config
	theirs time.Time // when we were last not too far ahead of it; zero: never
	at     time.Time // the same on our monotonic clock
	warned bool
}

// admit refuses a process whose clock is too far ahead when it starts. The store's
// time is zero where it has no clock.
func (s *skewCheck) admit(now int64, theirs time.Time) error {
	if s.agrees(now, theirs) {
		return nil
	}
	return s.tooFar(now, theirs)
}

// tolerate refuses a clock that is too far ahead if it would be so of the store's
// clock as that was when the two last agreed: it has jumped. Otherwise the store's
// has, and it warns.
func (s *skewCheck) tolerate(now int64, theirs time.Time) error {
	if s.agrees(now, theirs) {
		return nil
	}
	if !s.at.IsZero() && s.tooFarAhead(now, s.theirs.Add(time.Since(s.at))) {
		return s.tooFar(now, theirs)
	}
	if !s.warned {
		s.warned = true
		s.log.Warn("lease: the store's clock is behind this process's, which has not jumped: processes that start are refused until the wrong one is corrected",
			"store", stamp(theirs), "clock", stamp(time.UnixMilli(now)))
	}
	return nil
}

// agrees reports whether our clock is not too far ahead of the store's, and notes
// when it was not.
func (s *skewCheck) agrees(now int64, theirs time.Time) bool {
	if theirs.IsZero() {
		return true
	}
	if s.tooFarAhead(now, theirs) {
		return false
	}
	s.theirs, s.at = theirs, time.Now()
	if s.warned {
		s.warned = false
		s.log.Warn("lease: the store's clock agrees with this process's again")
	}
	return true
}

func (s *skewCheck) tooFarAhead(now int64, theirs time.Time) bool {
	return milliseconds(now-theirs.UnixMilli()) > s.maxSkew
}

// storeTime is the store's clock, or zero where it has none.
func (c *config) storeTime(ctx context.Context, store Store) (time.Time, error) {
	clock, ok := store.(Clock)
	if !ok {
		return time.Time{}, nil
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	theirs, err := clock.Now(ctx)
	if err != nil {
		err = fmt.Errorf("the store's time: %w", err)
	}
	return theirs, err
}

func (s *skewCheck) tooFar(now int64, theirs time.Time) error {
	return fmt.Errorf("the clock shows %s and the store's %s: want at most WithMaxSkew(%v) ahead: correct the clock that is wrong",
		stamp(time.UnixMilli(now)), stamp(theirs), s.maxSkew)
}

// watchLead logs once that IDs are far ahead of the clock, and once that they no
// longer are.
func (l *Lease) watchLead() {
	w := l.current()
	lead := milliseconds(w.used() - l.now())
	if far := lead > maxLead; far != l.leading {
		l.leading = far
		message := "lease: IDs are more than a minute ahead of the clock"
		if !far {
			message = "lease: IDs are no longer more than a minute ahead of the clock"
		}
		l.log.Log(l.ctx, slog.LevelWarn, message, append(w.attrs(), "lead", max(0, lead))...)
	}
}
