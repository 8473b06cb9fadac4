package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Random processes on a store that loses requests and replies and carries calls out
// late, under clocks that step: no tick of a worker belongs to two processes.
func TestRandomProcesses(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for i := range 4 {
			t.Run(fmt.Sprintf("tick=%v/%d", tick, i), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { newWorld(tick).run(t) })
			})
		}
	}
}

// A world is six processes at a time that share four workers.
type world struct {
	layout snowflake.Layout
	store  *leasetest.Memory
	until  time.Time

	mu          sync.Mutex
	processes   int
	regressions uint64
	issued      map[place]int // the process that issued there
	ids         map[types.ID]bool
}

// A place is a tick of a worker.
type place struct {
	worker int
	tick   time.Time
}

func newWorld(tick time.Duration) *world {
	l := layout()
	l.Tick, l.SequenceBits = tick, 4
	return &world{
		layout: l, store: leasetest.NewMemory(), until: time.Now().Add(6000 * tick),
		issued: map[place]int{}, ids: map[types.ID]bool{},
	}
}

func (w *world) run(t *testing.T) {
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for time.Now().Before(w.until) {
				w.live(t)
			}
		})
	}
	wg.Go(func() { w.operate(t) })
	w.disturb()
	wg.Wait()
	if w.regressions > 0 {
		t.Errorf("%d regressions, and the store has forgotten nothing", w.regressions)
	}
	if len(w.ids) < 10_000 {
		t.Errorf("%d IDs of %d processes: too little happened", len(w.ids), w.processes)
	}
}

// disturb loses every tenth call or its reply, and sometimes all for a while; then
// the store may forget what it has shown and not acknowledged.
func (w *world) disturb() {
	w.store.OnCall(func(leasetest.Call) leasetest.Fault {
		return [20]leasetest.Fault{leasetest.LoseRequest, leasetest.LoseReply}[rand.IntN(20)]
	})
	for time.Now().Before(w.until) {
		time.Sleep(rand.N(400 * w.layout.Tick))
		w.store.Down()
		time.Sleep(rand.N(60 * w.layout.Tick))
		if rand.IntN(2) == 0 {
			w.store.Crash()
		}
		w.store.Up()
	}
}

// operate is an operator who evicts holders and raises all bounds.
func (w *world) operate(t *testing.T) {
	for time.Now().Before(w.until) {
		time.Sleep(rand.N(400 * w.layout.Tick))
		in, err := lease.Inspect(t.Context(), w.store)
		if err != nil || len(in.Holders) == 0 {
			continue
		}
		if rand.IntN(8) == 0 {
			_, _ = in.Raise(t.Context(), time.Now().Add(rand.N(20*w.layout.Tick)))
			continue
		}
		_ = in.Evict(t.Context(), in.Holders[rand.IntN(len(in.Holders))])
	}
}

// live is one process, from Acquire to its end, which may come without notice.
func (w *world) live(t *testing.T) {
	window := 10 * w.layout.Tick * time.Duration(1+rand.IntN(4))
	store, clock := &mortal{Store: w.store}, new(skew)
	step := func() {
		if rand.IntN(2) == 0 {
			clock.set(rand.N(6*window) - 3*window)
		}
		if rand.IntN(20) == 0 {
			clock.set(40 * 24 * time.Hour) // beyond WithMaxJump
		}
	}
	step()
	gen, l := w.bear(t, store, window, lease.WithClock(clock.now))
	if gen == nil {
		time.Sleep(rand.N(window))
		return
	}
	process := w.count()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { w.issue(t, gen, l, window, process) })
	}
	for range rand.IntN(8) {
		time.Sleep(rand.N(window))
		step()
	}
	store.dead.Store(rand.IntN(3) == 0)
	ctx, cancel := context.WithTimeout(context.Background(), rand.N(window))
	defer cancel()
	_ = gen.Close(ctx)
	wg.Wait()
	if rand.IntN(2) == 0 {
		_ = l.Release(t.Context())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.regressions += l.Stats().Regressions
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes++
	return w.processes
}

// bear returns nil if no worker is free, or the store fails.
func (w *world) bear(t *testing.T, store lease.Store, window time.Duration, clock lease.Option) (*snowflake.Generator, *lease.Lease) {
	settle := []time.Duration{0, 0, 0, window}[rand.IntN(4)]
	l, err := lease.Acquire(t.Context(), store, w.layout, clock, lease.WithLogger(discard()),
		lease.WithWindow(window), lease.WithMaxAhead(rand.N(8*window)), lease.WithSettle(settle))
	if err != nil {
		return nil, nil
	}
	time.Sleep(rand.N(2 * window))
	way := []snowflake.Option{snowflake.WithLogicalTime(), snowflake.WithLag(window / 2), snowflake.WithSequenceStart(snowflake.StartZero)}
	gen, err := snowflake.New(l, way[rand.IntN(len(way))])
	if err != nil {
		_ = l.Release(t.Context())
		return nil, nil
	}
	return gen, l
}

// issue continues until the generator is closed.
func (w *world) issue(t *testing.T, gen *snowflake.Generator, l *lease.Lease, window time.Duration, process int) {
	for {
		before := l.Stats()
		ids := make([]types.ID, 1+rand.IntN(40))
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(window))
		err := gen.Fill(ctx, ids)
		cancel()
		if errors.Is(err, snowflake.ErrClosed) {
			return
		}
		if err == nil {
			w.check(t, ids, process)
			w.checkLoss(t, ids, before, l.Stats())
		}
		time.Sleep(rand.N(window / 4))
	}
}

func (w *world) check(t *testing.T, ids []types.ID, process int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := w.store.Records()
	for _, id := range ids {
		if w.ids[id] {
			t.Errorf("%d was issued twice", id)
		}
		w.ids[id] = true
		at := place{key(w.layout, id), w.layout.Time(id)}
		if other, ok := w.issued[at]; ok && other != process {
			t.Errorf("worker %d at %v belongs to the processes %d and %d", at.worker, at.tick, other, process)
		}
		w.issued[at] = process
		if bound := records[at.worker].Bound; at.tick.UnixMilli() >= bound {
			t.Errorf("worker %d at %v, and its bound is %v", at.worker, at.tick, time.UnixMilli(bound))
		}
	}
}

// checkLoss finds IDs of a worker whose loss was known when the call began. One
// loss that comes during the call may leave the IDs of either worker.
func (w *world) checkLoss(t *testing.T, ids []types.ID, before, after lease.Stats) {
	if before.Losses+before.Regressions != after.Losses+after.Regressions {
		return
	}
	for _, id := range ids {
		if p := w.layout.Decompose(id); p.Datacenter != after.Datacenter || p.Worker != after.Worker {
			t.Errorf("%d is of datacenter %d worker %d, and the lease holds %+v", id, p.Datacenter, p.Worker, after)
		}
	}
}

// A mortal makes every tenth write late, often so late that nobody waits for it
// any more, and none once it is dead.
type mortal struct {
	lease.Store
	dead atomic.Bool
}

var errDead = errors.New("dead")

func (m *mortal) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	switch {
	case m.dead.Load():
		return false, errDead
	case rand.IntN(10) > 0:
		return m.Store.CompareAndSwap(ctx, worker, old, next)
	}
	type answer struct {
		ok  bool
		err error
	}
	answered := make(chan answer, 1)
	time.AfterFunc(rand.N(2*time.Second), func() {
		ok, err := m.Store.CompareAndSwap(context.Background(), worker, old, next)
		answered <- answer{ok, err}
	})
	select {
	case a := <-answered:
		return a.ok, a.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
