//go:build replay

package lease_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/model"
	"github.com/gormflake/gormflake/types"
)

// simulatedTick is long, so that a trace is short.
const simulatedTick = time.Second

var errSimulated = errors.New("simulated: no answer")

// A simulation is a fleet and its store, which shows what it may forget: writes become
// durable in their order, with the first acknowledgement after them.
type simulation struct {
	start, until time.Time
	world        *stream

	mu      sync.Mutex
	visible map[int]lease.Record
	log     []*flight // visible and not durable
	down    time.Time // until then no call arrives
	calls   int
	tokens  map[string]int
	layouts map[string]int64
	events  []model.Event
	ids     map[types.ID]bool
	wrong   []string // what went wrong, without the model
	issued  int
}

// A flight is a write.
type flight struct {
	worker             int
	old, next          lease.Record
	forgotten, durable bool
}

// A stream is one consumer's random numbers. Consumers that draw at the same instant,
// in an order that nothing determines, have one each.
type stream struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newStream(seed uint64, purpose, process, life int) *stream {
	return &stream{r: rand.New(rand.NewPCG(seed, uint64(purpose)<<48|uint64(process)<<32|uint64(life)))}
}

func (s *stream) n(n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Int64N(n)
}

// upTo is a time to the nanosecond, as no two timers may fire at one instant: their
// order would be random.
func (s *stream) upTo(d time.Duration) time.Duration { return 1 + time.Duration(s.n(int64(d))) }

// oneIn is true once in n times.
func (s *stream) oneIn(n int64) bool { return s.n(n) == 0 }

// emit is called with the lock.
func (s *simulation) emit(e model.Event) int {
	e.At = time.Since(s.start)
	s.events = append(s.events, e)
	return len(s.events) - 1
}

// tickOf counts from before the start, as clocks are wrong. What is earlier still, such
// as the layout's epoch, is zero.
func (s *simulation) tickOf(ms int64) int64 {
	return max(0, (ms-s.start.UnixMilli())/simulatedTick.Milliseconds()+1000)
}

func (s *simulation) token(holder string) int {
	if holder != "" && s.tokens[holder] == 0 {
		s.tokens[holder] = len(s.tokens) + 1
	}
	return s.tokens[holder]
}

func (s *simulation) seen(key int, r lease.Record) model.Seen {
	if key == model.LayoutWorker {
		if r.Owner != "" && s.layouts[r.Owner] == 0 {
			s.layouts[r.Owner] = int64(len(s.layouts) + 1)
		}
		return model.Seen{Bound: s.layouts[r.Owner]}
	}
	return model.Seen{Bound: s.tickOf(r.Bound), Holder: s.token(holder(r)), Released: released(r)}
}

// A client is one process's connection to the store.
type client struct {
	*simulation
	process int
	faults  *stream
	lease   *lease.Lease
	dead    bool    // with the lock
	sent    *flight // on its way, if there is one
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) latency() time.Duration {
	if c.faults.oneIn(20) {
		return c.faults.upTo(20 * time.Second)
	}
	return c.faults.upTo(200 * time.Millisecond)
}

// begin ends a call before the lease does, whose own timers, of a call and of the
// caller who waits for it, fire at one instant in random order.
func (c *client) begin(ctx context.Context) (_ context.Context, cancel func(), call int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	ctx, cancel = context.WithTimeout(ctx, 4*time.Second+c.faults.upTo(900*time.Millisecond))
	return ctx, cancel, c.calls, !c.dead
}

func (c *client) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, _, err := c.Get(ctx, nil)
	return records, err
}

// Get shows by its keys which part of the protocol reads.
func (c *client) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	ctx, cancel, call, ok := c.begin(ctx)
	defer cancel()
	there, back, lost := c.latency(), c.latency(), c.faults.oneIn(30)
	if !ok || wait(ctx, there) != nil {
		return nil, time.Time{}, errSimulated
	}
	found, at := c.look(call, keys)
	err := wait(ctx, back)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || lost || c.dead || found == nil {
		return nil, time.Time{}, errSimulated
	}
	c.events[at].OK = true
	c.emit(model.Event{Kind: model.Answered, Process: c.process, Call: call})
	return found, time.Now(), nil
}

func (c *client) look(call int, keys []int) (found map[int]lease.Record, at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || time.Now().Before(c.down) {
		return nil, 0
	}
	found = maps.Clone(c.visible)
	maps.DeleteFunc(found, func(key int, _ lease.Record) bool {
		return len(keys) > 0 && !slices.Contains(keys, key)
	})
	seen := map[int]model.Seen{}
	for key, r := range found {
		seen[key] = model.Seen{Bound: c.seen(key, r).Bound}
	}
	return found, c.emit(model.Event{Kind: model.Loaded, Process: c.process, Call: call, Keys: keys, Records: seen})
}

// CompareAndSwap may lose the request or the answer, land after the caller has given
// up, and answer twice, the second time that the record is another.
func (c *client) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	c.holds()
	ctx, cancel, call, ok := c.begin(ctx)
	defer cancel()
	if !ok {
		return false, errSimulated
	}
	there, back := c.latency(), c.latency()
	lostRequest, lostAnswer, repeated := c.faults.oneIn(30), c.faults.oneIn(20), c.faults.oneIn(50)
	w := &flight{worker: worker, old: old, next: next}
	landed := c.send(call, w, there, lostRequest)
	if lostRequest {
		ctx, cancel = context.WithTimeout(ctx, there)
		defer cancel()
	}
	var wrote bool
	select {
	case wrote = <-landed:
	case <-ctx.Done():
		return c.answer(call, w, false, errSimulated)
	}
	switch err := wait(ctx, back); {
	case err != nil || lostAnswer:
		return c.answer(call, w, false, errSimulated)
	case repeated:
		return c.answer(call, w, false, nil)
	}
	return c.answer(call, w, wrote, nil)
}

func (c *client) send(call int, w *flight, there time.Duration, lost bool) chan bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	landed := make(chan bool, 1)
	c.emit(model.Event{
		Kind: model.Sent, Process: c.process, Call: call, Worker: w.worker,
		Old: c.seen(w.worker, w.old), New: c.seen(w.worker, w.next),
	})
	if lost || time.Now().Add(there).Before(c.down) {
		return landed
	}
	c.sent = w
	time.AfterFunc(there, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sent == w {
			c.sent = nil
		}
		ok := c.write(w)
		c.emit(model.Event{Kind: model.Landed, Process: c.process, Call: call, Worker: w.worker, OK: ok})
		landed <- ok
	})
	return landed
}

// write is called with the lock.
func (s *simulation) write(w *flight) bool {
	if s.visible[w.worker] != w.old {
		return false
	}
	s.visible[w.worker] = w.next
	s.log = append(s.log, w)
	return true
}

func (c *client) answer(call int, w *flight, ok bool, err error) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := c.sent == w
	if late {
		c.sent = nil
	}
	if c.dead {
		return false, errSimulated
	}
	if ok && w.forgotten {
		ok, err = false, errSimulated
	}
	if ok {
		c.flush(w)
	}
	c.emit(model.Event{Kind: model.Answered, Process: c.process, Call: call, OK: ok, Late: late})
	return ok, err
}

// flush makes a write durable, and all before it. It is called with the lock.
func (s *simulation) flush(w *flight) {
	for !w.durable {
		s.log[0].durable = true
		s.log = s.log[1:]
	}
}

// crash forgets the end of the log, and the store is down for a while.
func (s *simulation) crash() {
	kept, down := int(s.world.n(1<<30)), s.world.upTo(30*time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world.oneIn(3) {
		s.down = time.Now().Add(down)
	}
	kept %= len(s.log) + 1
	dropped := s.log[kept:]
	for _, w := range slices.Backward(dropped) {
		w.forgotten = true
		s.visible[w.worker] = w.old
		if w.old == (lease.Record{}) {
			delete(s.visible, w.worker)
		}
	}
	for _, w := range s.log[:kept] {
		w.durable = true
	}
	s.log = nil
	s.emit(model.Event{Kind: model.Crashed, Tick: int64(len(dropped))})
}

// die ends the process without notice.
func (c *client) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emit(model.Event{Kind: model.Died, Process: c.process, Late: c.sent != nil})
	c.dead = true
}

// holds compares what the lease may issue with what the model lets it.
func (c *client) holds() {
	c.mu.Lock()
	l, dead := c.lease, c.dead
	c.mu.Unlock()
	if l == nil || dead {
		return
	}
	stats := l.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emit(model.Event{Kind: model.Holds, Process: c.process, Holder: c.token(stats.Owner), Tick: c.tickOf(stats.Until.UnixMilli())})
}

// An operator evicts holders and raises bounds, and is always answered.
type operator struct{ *simulation }

func (o operator) Load(context.Context) (map[int]lease.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.visible), nil
}

func (o operator) CompareAndSwap(_ context.Context, worker int, old, next lease.Record) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.write(&flight{worker: worker, old: old, next: next}) {
		return false, nil
	}
	o.emit(model.Event{Kind: model.Operated, Process: -1, Worker: worker, Old: o.seen(worker, old), New: o.seen(worker, next)})
	return true, nil
}

func (s *simulation) operate() {
	in, err := lease.Inspect(context.Background(), operator{s})
	if err != nil || len(in.Holders) == 0 {
		return
	}
	if s.world.oneIn(8) {
		_, _ = in.Raise(context.Background(), time.Now().Add(s.world.upTo(20*time.Second)))
		return
	}
	h := in.Holders[s.world.n(int64(len(in.Holders)))]
	if strings.Contains(h.Owner, "/") {
		_ = in.Evict(context.Background(), h)
	}
}
