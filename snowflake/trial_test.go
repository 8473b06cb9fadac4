package snowflake_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A steppedClock is the machine's wall clock plus a skew that changes in steps. It records
// its steps, so that an ID can be checked against the skews that were in effect during its
// call.
type steppedClock struct {
	steps []clockStep
	made  atomic.Int64 // number of steps that are recorded
}

// A clockStep is a skew that is in effect until the next step.
type clockStep struct {
	skew    time.Duration
	highest time.Duration // highest skew so far
	since   atomic.Int64  // when it was certainly in effect, in Unix nanoseconds; 0 while it is being made
}

// newSteppedClock returns a clock that shows the machine's time.
func newSteppedClock() *steppedClock {
	c := &steppedClock{steps: make([]clockStep, 1<<15)}
	c.set(0)
	return c
}

// set steps the clock to the skew. It does nothing once 32,768 steps are recorded.
func (c *steppedClock) set(skew time.Duration) {
	n := c.made.Load()
	if int(n) == len(c.steps) {
		return
	}
	s := &c.steps[n]
	if s.skew, s.highest = skew, skew; n > 0 {
		s.highest = max(skew, c.steps[n-1].highest)
	}
	c.made.Add(1)
	s.since.Store(time.Now().UnixNano())
}

func (c *steppedClock) skew() time.Duration { return c.steps[c.made.Load()-1].skew }
func (c *steppedClock) now() time.Time      { return time.Now().Round(0).Add(c.skew()) }

// A generator of a trial compares its clocks every 10 ms. So it may continue for somewhat
// longer than that as if a step had not been made. It may continue much longer while
// another program interrupts the call that compares the clocks, which happens only for
// some steps even on a busy machine.
const (
	unnoticed   = 15 * time.Millisecond
	interrupted = time.Second
)

// between returns the lowest and the highest skew by which the generator may have issued
// during a call that began at from and ended at to. These are the skews during the call, and
// in the time unnoticed before the call, because the generator may not have noticed yet that
// such a skew had ended.
func (c *steppedClock) between(from, to moment, unnoticed time.Duration) (lowest, highest time.Duration) {
	lowest, highest = c.steps[to.steps-1].skew, c.steps[to.steps-1].skew
	for i := to.steps - 1; i > 0; i-- {
		since := c.steps[i].since.Load()
		if i < from.steps && since > 0 && since+int64(unnoticed) < from.at {
			break
		}
		lowest, highest = min(lowest, c.steps[i-1].skew), max(highest, c.steps[i-1].skew)
	}
	return lowest, highest
}

// A moment describes the clock and the IDs directly before or after a call.
type moment struct {
	steps   int64 // number of steps of the clock
	at      int64 // Unix nanoseconds of the machine's clock
	highest id    // the highest ID returned so far, or a slightly lower ID
}

// A trial lets callers make IDs in parallel while the clock steps, and checks each ID:
// that it is unique, above the IDs before it, and neither ahead of the clock nor older
// than its call.
type trial struct {
	layout    snowflake.Layout
	clock     *steppedClock
	tolerates bool // IDs may be ahead of the clock by the size of a step back

	least   time.Time    // when the trial may end
	toMake  atomic.Int64 // number of IDs still to make
	highest atomic.Int64 // see moment
	late    sync.Map     // steps that were noticed late
	faults  faults
}

// faults counts faults by kind, and keeps the first of each kind.
type faults struct {
	mu    sync.Mutex
	kinds map[string]int
	first map[string]string
}

// add counts n faults of a kind, which the format describes.
func (f *faults) add(kind string, n int, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds, f.first = make(map[string]int), make(map[string]string)
	}
	if f.kinds[kind] += n; f.first[kind] == "" {
		f.first[kind] = fmt.Sprintf(format, args...)
	}
}

// report fails the test if there is a fault.
func (f *faults) report(t *testing.T) {
	t.Helper()
	for kind, n := range f.kinds {
		t.Errorf("%s: %d; the first: %s", kind, n, f.first[kind])
	}
}

// The kinds of faults.
const (
	failed      = "failed"
	duplicate   = "duplicate"
	outOfOrder  = "out of order"
	ahead       = "ahead of the clock"
	old         = "older than its call"
	noticedLate = "steps noticed late"
)

// run has the callers make IDs until there are enough and the time is over, and returns
// their number. A caller fills a block, and returns how many IDs it got.
func (tr *trial) run(callers ...func(block []id) (int, error)) (made int) {
	made = int(tr.toMake.Load())
	runs := make([][]interval, len(callers))
	var wg sync.WaitGroup
	for i, call := range callers {
		wg.Go(func() { runs[i] = tr.caller(call) })
	}
	wg.Wait()
	tr.findDuplicates(runs)
	tr.countLate()
	return made - int(tr.toMake.Load())
}

// countLate fails if more steps were noticed late than other programs explain.
func (tr *trial) countLate() {
	late, steps := 0, int(tr.clock.made.Load())
	tr.late.Range(func(any, any) bool { late++; return true })
	if late > 3+steps/5 {
		tr.faults.add(noticedLate, late, "of %d steps", steps)
	}
}

// An interval is a sequence of consecutive IDs.
type interval struct{ first, last id }

// caller calls call until the trial ends, checks the IDs, and returns them.
func (tr *trial) caller(call func([]id) (int, error)) (runs []interval) {
	var (
		last  id
		block = make([]id, 2000)
		from  = tr.moment()
	)
	for i := 0; tr.toMake.Load() > 0 || from.at < tr.least.UnixNano(); i++ {
		n, err := call(block)
		if err != nil {
			tr.faults.add(failed, 1, "%v", err)
			return runs
		}
		if n == 0 { // the clock is behind, or the tick is full
			time.Sleep(50 * time.Microsecond)
			from = tr.moment()
			continue
		}
		to := tr.moment()
		last = tr.check(block[:n], from, to, last)
		runs = appendRuns(runs, block[:n])
		tr.toMake.Add(-int64(n))
		if from = to; i%32 == 0 {
			tr.publish(last)
			from = tr.moment()
		}
	}
	return runs
}

// moment returns the present moment.
func (tr *trial) moment() moment {
	return moment{steps: tr.clock.made.Load(), at: time.Now().UnixNano(), highest: id(tr.highest.Load())}
}

// publish records an ID that the IDs of calls beginning from now on have to exceed.
func (tr *trial) publish(last id) {
	for {
		highest := tr.highest.Load()
		if int64(last) <= highest || tr.highest.CompareAndSwap(highest, int64(last)) {
			return
		}
	}
}

// check checks the IDs of one call, and returns the last of them. from and to are the
// moments before and after the call, and last is the caller's last ID before it. If the
// IDs fit the clock only if a step was noticed very late, check remembers the step for
// countLate.
func (tr *trial) check(ids []id, from, to moment, last id) id {
	if earlier := max(last, from.highest); ids[0] <= earlier {
		tr.faults.add(outOfOrder, 1, "%d after %d", ids[0], earlier)
	}
	if !slices.IsSorted(ids) {
		tr.faults.add(outOfOrder, 1, "a block of %d", len(ids))
	}
	last = ids[len(ids)-1]
	if kind, _ := tr.timely(ids[0], last, from, to, unnoticed); kind != "" {
		if kind, by := tr.timely(ids[0], last, from, to, interrupted); kind != "" {
			tr.faults.add(kind, 1, "%d to %d, by %v, after %d steps", ids[0], last, by, to.steps)
		}
		tr.late.Store(to.steps, true)
	}
	return last
}

// timely compares the first and the last ID of a call with the clock between from and to.
// It returns the kind of fault, or "", and the time by which an ID is wrong. A step may
// go unnoticed for the given time.
func (tr *trial) timely(first, last id, from, to moment, unnoticed time.Duration) (fault string, by time.Duration) {
	tick := tr.layout.Tick
	lowest, highest := tr.clock.between(from, to, unnoticed)
	if highest += tick; tr.tolerates { // the clock policy ignores a step of less than a tick
		highest = tr.clock.steps[to.steps-1].highest
	}
	begin := time.Unix(0, from.at).Add(lowest - tick)
	if by := begin.Sub(tr.layout.Time(first)); by > 0 {
		return old, by
	}
	end := time.Unix(0, to.at).Add(highest + agreement)
	if by := tr.layout.Time(last).Sub(end); by > 0 {
		return ahead, by
	}
	return "", 0
}

// agreement is how far the wall clock may seem behind before that counts as a step.
const agreement = 50 * time.Microsecond

// appendRuns appends IDs to the intervals, and lengthens the last interval if they follow
// it.
func appendRuns(runs []interval, ids []id) []interval {
	for _, id := range ids {
		if n := len(runs) - 1; n >= 0 && runs[n].last+1 == id {
			runs[n].last = id
		} else {
			runs = append(runs, interval{id, id})
		}
	}
	return runs
}

// findDuplicates goes through the intervals of all callers from the lowest up. An interval
// that begins at or below the highest ID so far, last, contains duplicates.
func (tr *trial) findDuplicates(runs [][]interval) {
	all := slices.Concat(runs...)
	slices.SortFunc(all, func(a, b interval) int { return a.first.Compare(b.first) })
	var last id
	for _, r := range all {
		if r.first <= last {
			tr.faults.add(duplicate, int(min(last, r.last)-r.first)+1, "%d to %d", r.first, min(last, r.last))
		}
		last = max(last, r.last)
	}
}

// The trial must find each kind of fault. Otherwise its success would prove little.
func TestTrialFindsFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault func(tr *trial, id id) (id, error) // changes some of the IDs
		want  []string                           // kinds that must be found, or nil if no fault may be found
	}{
		"none":        {func(_ *trial, id id) (types.ID, error) { return id, nil }, nil},
		"repeated":    {func(tr *trial, _ id) (types.ID, error) { return id(tr.highest.Load()), nil }, []string{duplicate}},
		"lower":       {func(_ *trial, id id) (types.ID, error) { return id - 1<<22, nil }, []string{outOfOrder}},
		"in advance":  {func(_ *trial, id id) (types.ID, error) { return id + 2<<22, nil }, []string{ahead}},
		"late":        {func(_ *trial, id id) (types.ID, error) { return id - 30<<22, nil }, []string{old}},
		"none at all": {func(*trial, id) (types.ID, error) { return 0, errDown }, []string{failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, grantingSource(time.Now(), time.Hour), snowflake.WithLayout(freshLayout()))
			tr := &trial{layout: g.Layout(), clock: newSteppedClock(), tolerates: true}
			tr.toMake.Store(20_000)
			var calls atomic.Int64
			next := func(block []id) (n int, err error) {
				block[0], err = g.Next(ctx)
				if err == nil && calls.Add(1)%1000 == 0 {
					block[0], err = test.fault(tr, block[0])
				}
				return 1, err
			}
			tr.run(next, next)
			for _, kind := range test.want {
				if tr.faults.kinds[kind] == 0 {
					t.Errorf("no ID is found %s; found %v", kind, tr.faults.kinds)
				}
			}
			if test.want == nil {
				tr.faults.report(t)
			}
		})
	}
}
