//go:build replay

package lease_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/model"
	"github.com/gormflake/gormflake/snowflake"
)

// A client is the connection of one process to the store. It loses, delays and repeats
// calls.
type client struct {
	*simulation
	process int
	layout  snowflake.Layout
	faults  *stream
	lease   *lease.Lease
	dead    bool    // the process has ended; guarded by mu
	sent    *flight // the write on its way, or nil
}

// wait waits for d, or returns an error if ctx ends first.
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

// latency returns a random time for a request or an answer. One in twenty may take longer
// than the lease waits.
func (c *client) latency() time.Duration {
	if c.faults.oneIn(20) {
		return c.faults.upTo(20 * time.Second)
	}
	return c.faults.upTo(200 * time.Millisecond)
}

// Connect takes a random time. Otherwise renewLoop and a caller that wake by the same answer
// would make their next calls at the same instant, in random order.
func (c *client) Connect(ctx context.Context) (lease.Store, func(), error) {
	err := wait(ctx, c.latency()/10)
	return c, func() {}, err
}

// Check sometimes fails, as after a change of settings.
func (c *client) Check(ctx context.Context) error {
	if err := wait(ctx, c.latency()); err != nil || c.faults.oneIn(4) {
		return errSimulated
	}
	return nil
}

// Load returns no records. A lease reads the records of the 16 workers by Get, and calls
// Load only to see whether to warn that the layout's record is missing.
func (c *client) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, _, err := c.Get(ctx, nil)
	return records, err
}

// Get reads the records at the instant at which its request arrives. The trace gets the keys,
// because they show for which step of the protocol the lease reads. For example, the key of
// the layout alone means the check after a claim.
func (c *client) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	there, back, lost := c.latency(), c.latency(), c.faults.oneIn(30)
	if wait(ctx, there) != nil {
		return nil, time.Time{}, errSimulated
	}
	found, at := c.look(keys)
	err := wait(ctx, back)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || lost || c.dead || found == nil {
		return nil, time.Time{}, errSimulated
	}
	c.events[at].OK = true
	c.emitLocked(model.Event{Kind: model.Answered, Process: c.process, Call: c.events[at].Call})
	return found, time.Now(), nil
}

// look reads the records at the instant at which the request arrives. It returns the
// index of its event, or no records if the store is down or the process dead.
func (c *client) look(keys []int) (found map[int]lease.Record, at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || time.Now().Before(c.down) {
		return nil, 0
	}
	found = maps.Clone(c.visible)
	maps.DeleteFunc(found, func(key int, _ lease.Record) bool { return !slices.Contains(keys, key) })
	seen := map[int]model.Seen{}
	for key, r := range found {
		seen[key] = c.seen(key, r)
	}
	c.calls++
	c.emitLocked(model.Event{Kind: model.Loaded, Process: c.process, Call: c.calls, Keys: keys, Layout: layoutNumber[c.layout.SequenceBits == 11], Records: seen})
	return found, len(c.events) - 1
}

// CompareAndSwap may lose the request or the answer. The write may also land after the caller
// has given up. Or it lands, and the caller gets false, as if a proxy had sent the write twice
// and returned the second answer.
func (c *client) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	c.holds()
	w := &flight{process: c.process, worker: worker, old: old, next: next, landed: make(chan struct{})}
	there, back := c.latency(), c.latency()
	lost, unanswered, repeated := c.faults.oneIn(30), c.faults.oneIn(20), c.faults.oneIn(50)
	if !c.send(w, there, lost) {
		return false, errSimulated
	}
	err := errSimulated
	select {
	case <-w.landed:
		err = wait(ctx, back)
	case <-ctx.Done():
	}
	if unanswered {
		err = errSimulated
	}
	return c.answer(w, !repeated, err)
}

// send sends a write, which lands after the time there, unless lost is true or the store is
// down at that time. It returns false if the process is dead.
func (c *client) send(w *flight, there time.Duration, lost bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return false
	}
	c.calls++
	w.call = c.calls
	if w.worker >= 0 {
		c.users[w.worker][c] = true
	}
	c.emitLocked(model.Event{
		Kind: model.Sent, Process: c.process, Call: w.call, Worker: w.worker,
		Old: c.seen(w.worker, w.old), New: c.seen(w.worker, w.next),
	})
	if !lost && !time.Now().Add(there).Before(c.down) {
		c.sent = w
		time.AfterFunc(there, func() { c.land(w) })
	}
	return true
}

// land carries out a write in the store, at the instant at which the request arrives.
func (c *client) land(w *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == w {
		c.sent = nil
	}
	ok := c.write(w)
	c.emitLocked(model.Event{Kind: model.Landed, Process: c.process, Call: w.call, Worker: w.worker, OK: ok})
	close(w.landed)
}

// answer returns the store's answer to a write, or an error if err is not nil, or if the store
// has forgotten the write. If first is false, the write was repeated, and the answer belongs to
// the second write, which was refused. The event is Late if the write has not landed yet.
func (c *client) answer(w *flight, first bool, err error) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return false, errSimulated
	}
	late := c.sent == w
	if w.forgotten || err != nil {
		err = errSimulated
	}
	ok := err == nil && first && w.wrote
	if ok {
		c.makeDurable(w)
	}
	c.emitLocked(model.Event{Kind: model.Answered, Process: c.process, Call: w.call, OK: ok, Late: late})
	return ok, err
}

// die ends the process without notice.
func (c *client) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emitLocked(model.Event{Kind: model.Died, Process: c.process, Late: c.sent != nil})
	c.dead = true
	for _, users := range c.users {
		delete(users, c)
	}
}

// setLease sets the lease of the process. From then on, the method holds records the end of
// the lease's window.
func (c *client) setLease(l *lease.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lease = l
}

// holds records the end of the lease's window, for comparison with the model.
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
	c.emitLocked(model.Event{Kind: model.Holds, Process: c.process, Holder: c.tokens[stats.Owner], Tick: c.tickOf(stats.Until.UnixMilli())})
}
