package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// shortWait is how long a claim waits for a worker that was released a
	// moment ago.
	shortWait = time.Second

	// maxUnknown is how many writes of unknown outcome a claim sees before it
	// gives up.
	maxUnknown = 3

	// maxCollisions is where the pause after a collision stops growing.
	maxCollisions = 100
)

// A claim looks for a worker and writes a record for it. All its writes carry one
// token, so that one which landed without an answer is found again.
type claim struct {
	*config
	records   records
	chooser   *chooser
	clocks    *clocks
	starting  bool                  // or in place of a worker that is lost
	readClock func() (int64, error) // in Unix milliseconds
	patience  time.Duration         // for a connection

	token        token
	layoutRecord Record
	readAll      bool          // because none of a few workers was free
	starts       map[int]int64 // of each worker tried, the first tick that nobody else can have issued, in Unix ms
	collisions   int           // writes that were refused
	unknown      int           // writes without an answer
	pause        time.Duration // before the next attempt
}

// search starts with a token of its own: c is a copy that has tried nothing.
func (c claim) search(ctx context.Context) (*heldWorker, error) {
	c.token, c.starts = newToken(c.window), map[int]int64{}
	for {
		w, err := c.attempt(ctx)
		if w != nil || err != nil {
			return w, err
		}
	}
}

// attempt returns neither a worker nor an error if it is to be tried again, after the
// pause.
func (c *claim) attempt(ctx context.Context) (*heldWorker, error) {
	leave, err := c.records.enter(ctx)
	if err != nil {
		return nil, err
	}
	c.pause = 0
	w, err := c.attemptInTurn(ctx)
	leave() // it is others' turn during the pause
	if err == nil && c.pause > 0 {
		err = sleep(ctx, c.pause)
	}
	return w, err
}

func (c *claim) attemptInTurn(ctx context.Context) (*heldWorker, error) {
	over, disconnect, err := c.records.connect(ctx, c.patience)
	if err != nil {
		return nil, err
	}
	defer disconnect()
	now, err := c.readClock()
	if err != nil {
		return nil, acquiring(err)
	}
	began := time.Now()
	seen, err := c.look(ctx, over)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	if err := c.checkSettle(); err != nil {
		return nil, acquiring(err)
	}
	if err := enough(ctx, took); err != nil {
		return nil, err
	}
	if c.layoutRecord, err = over.joinLayout(ctx, c.config, seen.records[layoutKey]); err != nil {
		return nil, err
	}
	if seen.records[layoutKey] == (Record{}) {
		return nil, nil // what was seen is older than the layout
	}
	if err := c.clocks.check(now, seen.time, c.starting); err != nil {
		return nil, acquiring(err)
	}
	found, ok, err := c.pick(seen, now)
	if !ok {
		return nil, err
	}
	return c.write(ctx, over, found, now)
}

func (c *claim) checkSettle() error {
	if settler, ok := c.records.store.(Settler); ok && c.settle < c.window {
		return settler.Unsettled()
	}
	return nil
}

// enough returns an error if the caller's context ends before the store is likely to
// answer a write: whether that has leased a worker, the caller would not know.
func enough(ctx context.Context, took time.Duration) error {
	deadline, ok := ctx.Deadline()
	if left := time.Until(deadline); ok && left < took {
		return acquiring(fmt.Errorf("nothing was written, because the store took %v to be read and the context ends in %v: want a context that lasts longer: %w",
			took.Round(time.Millisecond), left.Round(time.Millisecond), context.DeadlineExceeded))
	}
	return nil
}

func acquiring(err error) error { return fmt.Errorf("lease: acquiring a worker: %w", err) }

// A view is what a claim has read.
type view struct {
	records map[int]Record
	time    time.Time // of the store; zero where it has no clock
	few     []int     // the workers that were read; nil if all were
}

// look reads a few workers of many, and those that the claim has tried, where the
// store can read them without the others.
func (c *claim) look(ctx context.Context, over records) (v view, err error) {
	if _, ok := over.store.(Getter); !ok || c.readAll {
		if v.records, _, err = over.load(ctx); err != nil {
			return v, err
		}
		if v.time, err = over.now(ctx); err != nil {
			err = acquiring(err)
		}
		return v, err
	}
	s := c.span()
	keys := s.few()
	if int64(len(keys)) < s.size() {
		v.few = keys
	}
	keys = slices.Concat(keys, slices.Collect(maps.Keys(c.starts)), []int{layoutKey})
	slices.Sort(keys)
	v.records, v.time, err = over.load(ctx, slices.Compact(keys)...)
	return v, err
}

// pick returns the worker to write for. Where none of a few is free, the next attempt
// reads all of them; where nobody holds one that the clock is about to reach, it waits
// for that.
func (c *claim) pick(v view, now int64) (found candidate, ok bool, err error) {
	if found, ok = c.tried(v.records); ok {
		return found, true, nil
	}
	if v.few != nil {
		found, ok = c.chooser.chooseAmong(v.few, v.records, now)
		c.readAll = !ok
		return found, ok, nil
	}
	found, err = c.chooser.choose(v.records, now, c.collisions > 0, c.starting)
	var none *NoFreeWorkerError
	if errors.As(err, &none) && none.Wait <= shortWait && none.Holders[0].Owner == "" {
		c.pause = max(none.Wait, 1)
		return found, false, nil
	}
	return found, err == nil, err
}

// tried returns the worker whose record already bears the token: a write has
// landed without an answer. That it is visible does not make it durable, so
// it is where the next write starts from.
func (c *claim) tried(records map[int]Record) (candidate, bool) {
	for _, key := range slices.Sorted(maps.Keys(c.starts)) {
		if r := records[key]; r.heldBy() == c.token.holder {
			return candidate{key, r, c.starts[key]}, true
		}
	}
	return candidate{}, false
}

func (c *claim) write(ctx context.Context, over records, found candidate, now int64) (*heldWorker, error) {
	c.starts[found.key] = max(c.starts[found.key], found.start)
	c.token.replaced = found.record.Bound
	if t, _ := parseToken(found.record.Owner); t.holder == c.token.holder {
		c.token.replaced = t.replaced // by the write that has landed
	}
	w := c.newWorker(found.key, now)
	r := w.next(max(c.bound(max(now+c.settle.Milliseconds(), c.starts[found.key])), found.record.Bound))
	c.token = w.token
	ok, err := over.swap(ctx, found.key, found.record, r)
	switch {
	case ok:
		w.acknowledge(r)
		return c.confirm(ctx, over, w)
	case err == nil:
		c.backOff()
		return nil, nil
	}
	if c.unknown++; c.unknown == maxUnknown || ctx.Err() != nil {
		return nil, acquiring(err)
	}
	return nil, nil
}

// confirm returns the worker if the layout that it was acquired for is the
// store's, and none, to try again, if a crash of the store has changed that.
func (c *claim) confirm(ctx context.Context, over records, w *heldWorker) (*heldWorker, error) {
	r, err := over.read(ctx, layoutKey)
	if r == c.layoutRecord && err == nil {
		return w, nil
	}
	_, releaseErr := over.free(context.WithoutCancel(ctx), w, w.start)
	return nil, errors.Join(err, releaseErr)
}

// backOff lets others pass, for a millisecond longer at most with every collision: a
// store that reads from a replica lets none of them succeed.
func (c *claim) backOff() {
	c.collisions++
	c.pause = time.Duration(c.random(int64(min(c.collisions, maxCollisions)) * int64(time.Millisecond)))
}

// newWorker is the worker that the claim is about to write.
func (c *claim) newWorker(key int, now int64) *heldWorker {
	datacenter, worker := numbers(c.layout, key)
	return &heldWorker{
		key: key, datacenter: datacenter, worker: worker, start: c.starts[key], unused: c.starts[key],
		acquired: time.UnixMilli(now), acquiredAt: time.Now(), token: c.token,
	}
}
