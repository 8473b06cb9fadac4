package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/trace"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const (
	fleetPatience = 2 * time.Minute       // until members hold workers, or issue IDs again
	retryPause    = 10 * time.Millisecond // before a failed call is repeated
	issuePause    = time.Millisecond      // between two calls for IDs
)

// A FleetConfig describes the members of a fleet.
type FleetConfig struct {
	Dial           leasetest.Dialer
	Workers        int                           // shared by the members
	Window, Settle time.Duration                 // of the members' leases
	Wrap           func(lease.Store) lease.Store // changes the members' stores; may be nil
	Clocks         []time.Duration               // errors of the members' clocks, in turn; may be nil
}

// A Fleet is a set of generators that share a few workers and issue IDs all the time.
// Each generator has its own client, and stands for a process. At the end, the fleet
// compares the IDs of all generators.
type Fleet struct {
	FleetConfig
	t         *testing.T
	namespace string
	ctx       context.Context

	modelSteps atomic.Int64 // steps of the model for the members that have ended

	mu      sync.Mutex
	members []*Member
}

// A Member is a generator of a [Fleet].
type Member struct {
	*Fleet
	address  string
	ahead    time.Duration // how far its clock is ahead
	cancel   context.CancelFunc
	done     chan struct{}   // closed when the member has ended
	holding  chan struct{}   // closed once lease and first are set
	log      journal         // errors in its log
	recorder *trace.Recorder // records the calls of its store
	trace    bytes.Buffer    // what the recorder has written

	lease *lease.Lease
	first lease.Stats // when it held its first worker

	mu       sync.Mutex
	ids      []types.ID
	last     time.Time     // time of the last ID
	halt     time.Duration // the longest time between two IDs
	refusals int           // calls that failed
	late     int           // IDs under its first worker by calls that began after it knew of the loss
}

// A Tally counts the IDs and errors of several members. A duplicate is an ID that was
// issued again. A regression is an alarm of a lease that has found that the store has
// forgotten an acknowledged write.
type Tally struct {
	IDs, Duplicates, Regressions int

	Refusals int // calls that failed
	Late     int // IDs under a member's first worker by calls that began after the member knew of its loss
}

func (s Tally) String() string {
	return fmt.Sprintf("%d IDs, %d issued twice, %d regressions, %d refusals", s.IDs, s.Duplicates, s.Regressions, s.Refusals)
}

// Plus returns the sum of two tallies.
func (s Tally) Plus(other Tally) Tally {
	return Tally{
		IDs: s.IDs + other.IDs, Duplicates: s.Duplicates + other.Duplicates, Regressions: s.Regressions + other.Regressions,
		Refusals: s.Refusals + other.Refusals, Late: s.Late + other.Late,
	}
}

// NewFleet returns a fleet without members. At the end of the test it ends all members, and
// logs how many steps of the model their traces took.
func NewFleet(t *testing.T, config FleetConfig) *Fleet {
	f := &Fleet{FleetConfig: config, t: t, ctx: t.Context(), namespace: "fleet-" + strings.ToLower(rand.Text()[:16])}
	t.Cleanup(func() {
		f.End(f.members)
		t.Logf("%d steps of the model", f.modelSteps.Load())
	})
	return f
}

// Start adds a member for each address. Each member dials its address after the time that
// delay returns for it.
func (f *Fleet) Start(delay func() time.Duration, addresses ...string) []*Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	added := make([]*Member, len(addresses))
	for i, address := range addresses {
		m := &Member{Fleet: f, address: address, done: make(chan struct{}), holding: make(chan struct{})}
		if len(f.Clocks) > 0 {
			m.ahead = f.Clocks[(len(f.members)+i)%len(f.Clocks)]
		}
		ctx, cancel := context.WithCancel(f.ctx)
		m.cancel = cancel
		added[i] = m
		wait := delay()
		go func() {
			defer close(m.done)
			pause(ctx, wait)
			m.run(ctx)
		}()
	}
	f.members = append(f.members, added...)
	return added
}

// AtOnce returns zero, so that members start without a delay.
func AtOnce() time.Duration { return 0 }

// ComeAndGo starts as many generations of members as asked, each after it has ended the
// generation before. It returns the members of the last generation, which have just acquired
// their workers.
func (f *Fleet) ComeAndGo(generations int, addresses ...string) (members []*Member) {
	f.t.Helper()
	const life = 200 * time.Millisecond
	for range generations {
		f.End(members)
		members = f.Start(AtOnce, addresses...)
		f.AwaitHolding(members)
		time.Sleep(mathrand.N(life))
	}
	return members
}

// End ends members like a service that is stopped: they close their generators, and so
// release their workers. It returns when they have ended.
func (f *Fleet) End(members []*Member) {
	for _, m := range members {
		m.cancel()
	}
	for _, m := range members {
		<-m.done
	}
}

// AwaitHolding waits until each of the members holds a worker.
func (f *Fleet) AwaitHolding(members []*Member) {
	f.t.Helper()
	limit := time.After(fleetPatience)
	for i, m := range members {
		select {
		case <-m.holding:
		case <-limit:
			f.t.Fatalf("%d of %d members hold a worker after %v", i, len(members), fleetPatience)
		}
	}
}

// AwaitIssuing waits until each of the members has issued an ID after the call.
func (f *Fleet) AwaitIssuing(members []*Member) {
	f.t.Helper()
	began := time.Now()
	for _, m := range members {
		for !m.issuedAfter(began) {
			if time.Since(began) > fleetPatience {
				f.t.Fatalf("a member has issued nothing for %v, want all to continue; its errors: %s", fleetPatience, &m.log)
			}
			time.Sleep(retryPause)
		}
	}
}

// Finish ends all members, and returns their tally.
func (f *Fleet) Finish() Tally {
	f.End(f.members)
	return f.Tally()
}

// Tally returns the tally of all members so far.
func (f *Fleet) Tally() (sum Tally) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []types.ID
	for _, m := range f.members {
		m.mu.Lock()
		all = append(all, m.ids...)
		sum.Refusals += m.refusals
		sum.Late += m.late
		if m.lease != nil {
			sum.Regressions += int(m.lease.Stats().Regressions)
		}
		m.mu.Unlock()
	}
	slices.Sort(all)
	sum.IDs = len(all)
	sum.Duplicates = len(all) - len(slices.Compact(all))
	return sum
}

// issued returns the number of IDs so far.
func (f *Fleet) issued() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		m.mu.Lock()
		n += len(m.ids)
		m.mu.Unlock()
	}
	return n
}

// TakeHalt returns the longest time between two IDs of one member since the last call of
// TakeHalt.
func TakeHalt(members []*Member) (longest time.Duration) {
	for _, m := range members {
		m.mu.Lock()
		longest = max(longest, m.halt)
		m.halt = 0
		m.mu.Unlock()
	}
	return longest
}

// Stats returns the statistics of the member's lease. The member must hold a worker already;
// see AwaitHolding.
func (m *Member) Stats() lease.Stats { return m.lease.Stats() }

// First returns the statistics at the time when the member held its first worker.
func (m *Member) First() lease.Stats { return m.first }

// Errors returns the errors that the member's lease has logged, as the text of the log.
func (m *Member) Errors() string { return m.log.String() }

// Issued returns how many IDs the member has issued.
func (m *Member) Issued() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ids)
}

// issuedAfter reports whether the member has issued an ID after t.
func (m *Member) issuedAfter(t time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last.After(t)
}

// run issues IDs until ctx ends. It then replays the trace of the member's calls of the store
// and of its IDs in the model of the protocol, and fails the test if the model rejects the
// trace.
func (m *Member) run(ctx context.Context) {
	store, closeStore := m.open(ctx)
	if store == nil {
		return
	}
	if closeStore != nil {
		defer closeStore()
	}
	m.recorder = trace.New(store, &m.trace)
	gen := m.acquire(ctx, m.recorder.Store)
	if gen == nil {
		return
	}
	m.issue(ctx, gen)
	shut(gen.Close)
	m.recorder.Stop()
	steps, err := trace.Replay(&m.trace)
	if err != nil {
		m.t.Error(err)
	}
	m.modelSteps.Add(int64(steps))
}

// shut releases a worker. It gives up after a second, because the store may be down.
func shut(f func(context.Context) error) {
	closing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = f(closing)
}

// open tries until the store answers.
func (m *Member) open(ctx context.Context) (lease.Store, func()) {
	for ctx.Err() == nil {
		store, closeStore, err := m.Dial(ctx, m.address, m.namespace)
		if err == nil {
			if m.Wrap != nil {
				store = m.Wrap(store)
			}
			return store, closeStore
		}
		pause(ctx, retryPause)
	}
	return nil, nil
}

// acquire tries until the member has a generator. If the member is too slow to begin
// within its window, it takes another worker.
func (m *Member) acquire(ctx context.Context, store lease.Store) *snowflake.Generator {
	for ; ctx.Err() == nil; pause(ctx, retryPause) {
		l, err := lease.Acquire(ctx, store, snowflake.TwitterLayout(), m.options()...)
		if err != nil {
			continue
		}
		first := l.Stats()
		// Sequences that start at zero certainly collide in a shared tick.
		gen, err := snowflake.New(l, snowflake.WithSequenceStart(snowflake.StartZero))
		if err != nil {
			m.t.Log(err)
			shut(l.Release)
			continue
		}
		m.mu.Lock()
		m.lease, m.first = l, first
		m.mu.Unlock()
		close(m.holding)
		return gen
	}
	return nil
}

// options returns the options of the member's lease. If the member's clock is wrong, its lease
// accepts that the clock is up to a day ahead of the store's clock, and takes workers whose
// bounds are up to three hours ahead of the clock.
func (m *Member) options() []lease.Option {
	options := []lease.Option{
		lease.WithWindow(m.Window), lease.WithSettle(m.Settle), lease.WithDatacenter(0), lease.WithWorkers(0, int64(m.Workers)-1),
		lease.WithLogger(slog.New(slog.NewTextHandler(&m.log, &slog.HandlerOptions{Level: slog.LevelError}))),
	}
	if m.ahead != 0 {
		options = append(options, lease.WithClock(func() time.Time { return time.Now().Add(m.ahead) }),
			lease.WithMaxSkew(24*time.Hour), lease.WithMaxAhead(3*time.Hour)) // to take workers whose bounds are ahead of a clock that is behind
	}
	return options
}

// issue issues IDs until ctx ends: one ID, and blocks of up to 32 IDs, in turn.
func (m *Member) issue(ctx context.Context, gen *snowflake.Generator) {
	var block [32]types.ID
	for n := 0; ctx.Err() == nil; n++ {
		// One ID if n is even, otherwise a block that grows from call to call.
		ids, knewLoss := block[:1+n%2*(n/2%len(block))], m.knowsLoss()
		m.recorder.Began()
		if err := next(ctx, gen, ids); err != nil {
			m.noteRefusal(ctx)
			continue
		}
		m.recorder.Issued(m.lease.Layout(), ids)
		m.note(ids, knewLoss)
		pause(ctx, issuePause)
	}
}

// next issues IDs by Fill, or a single ID by Next.
func next(ctx context.Context, gen *snowflake.Generator, ids []types.ID) (err error) {
	if len(ids) > 1 {
		return gen.Fill(ctx, ids)
	}
	ids[0], err = gen.Next(ctx)
	return err
}

// noteRefusal counts a failed call, unless the member is ending, and pauses before the next.
func (m *Member) noteRefusal(ctx context.Context) {
	if ctx.Err() == nil {
		m.mu.Lock()
		m.refusals++
		m.mu.Unlock()
	}
	pause(ctx, retryPause)
}

// note remembers IDs. If the member knew of the loss of its first worker before the
// call, it counts IDs under that worker as late, unless the member has taken the worker
// again.
func (m *Member) note(ids []types.ID, knewLoss bool) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids = append(m.ids, ids...)
	if !m.last.IsZero() {
		m.halt = max(m.halt, now.Sub(m.last))
	}
	m.last = now
	if s := m.lease.Stats(); !knewLoss || s.Worker == m.first.Worker && s.Since.After(m.first.Since) {
		return
	}
	for _, id := range ids {
		if m.lease.Layout().Decompose(id).Worker == m.first.Worker {
			m.late++
		}
	}
}

// knowsLoss reports whether the lease has noticed that it lost a worker.
func (m *Member) knowsLoss() bool {
	s := m.lease.Stats()
	return s.Losses+s.Regressions > 0
}

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
