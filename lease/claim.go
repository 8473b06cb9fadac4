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
	// shortWait is the longest time that a claim waits for the bound of a released
	// worker to pass. A longer wait is an error.
	shortWait = time.Second

	// maxUnknown is how many writes of a claim may end without an answer before the
	// claim fails. waitSettled repeats its write as often.
	maxUnknown = 3

	// maxCollisions is the number of collisions after which the pause grows no further.
	maxCollisions = 100
)

// A claim looks for a free worker and writes a record for it. All writes of a claim carry
// the same holder in their token. So if a write ended without an answer, the claim
// recognizes by the record whether it has landed.
type claim struct {
	*config
	records   records
	chooser   *chooser
	clocks    *clocks
	starting  bool                  // the process starts; otherwise the claim replaces a lost worker
	readClock func() (int64, error) // in Unix milliseconds
	patience  time.Duration         // how long to wait for a connection

	token        token
	layoutRecord Record        // the layout's record with which the claim has compared its own layout
	readAll      bool          // read all records, because a sample of the workers was all in use
	starts       map[int]int64 // by key of each worker tried: the first tick that no other process can have issued, in Unix ms
	collisions   int           // writes that the store refused
	unanswered   []int         // the keys of the workers of writes without an answer
	pause        time.Duration // before the next attempt
}

// search repeats attempts under a new token until one returns a worker or an error. It
// has a value receiver, so that each search starts without the state of an earlier
// search.
func (c claim) search(ctx context.Context) (*heldWorker, error) {
	c.token, c.starts = newToken(c.window), map[int]int64{}
	for {
		w, err := c.attempt(ctx)
		if err != nil && c.starting && len(c.unanswered) > 0 {
			go c.giveUp()
		}
		if w != nil || err != nil {
			return w, err
		}
	}
}

// attempt waits for its turn, if the store is a [Queue], and tries once to write a record.
// It returns neither a worker nor an error if the caller is to try again. It has then
// already paused.
func (c *claim) attempt(ctx context.Context) (*heldWorker, error) {
	leave, err := c.records.enter(ctx)
	if err != nil {
		return nil, err
	}
	c.pause = 0
	w, err := c.attemptInTurn(ctx)
	leave() // before the pause, so that another claim can use it
	if err == nil && c.pause > 0 {
		err = sleep(ctx, c.pause)
	}
	return w, err
}

// attemptInTurn reads the records, chooses a worker and tries once to write its record. It
// returns neither a worker nor an error if the caller is to try again, after c.pause.
func (c *claim) attemptInTurn(ctx context.Context) (*heldWorker, error) {
	conn, disconnect, err := c.records.connect(ctx, c.patience)
	if err != nil {
		return nil, err
	}
	defer disconnect()
	now, err := c.readClock()
	if err != nil {
		return nil, acquireError(err)
	}

	// Read the records.
	began := time.Now()
	seen, err := c.readRecords(ctx, conn)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)

	// Check that this process may take a worker.
	if err := c.checkSettle(); err != nil {
		return nil, acquireError(err)
	}
	if err := checkDeadline(ctx, took); err != nil {
		return nil, err
	}
	if c.layoutRecord, err = conn.joinLayout(ctx, c.config, seen.records[layoutKey]); err != nil {
		return nil, err
	}
	if seen.records[layoutKey] == (Record{}) {
		return nil, nil // the records were read before the layout was written, so they are read again
	}
	if err := c.clocks.check(now, seen.time, c.starting); err != nil {
		return nil, acquireError(err)
	}

	// Choose a worker and write its record.
	found, ok, err := c.pick(seen, now)
	if !ok {
		return nil, err
	}
	return c.write(ctx, conn, found, now)
}

// checkSettle returns an error if the store may forget writes, and the lease does not wait
// for at least a window before it issues under a new worker; see [Settler].
func (c *claim) checkSettle() error {
	if settler, ok := c.records.store.(Settler); ok && c.settle < c.window {
		return settler.Unsettled()
	}
	return nil
}

// checkDeadline returns an error if the deadline of ctx is sooner than the time that the
// store took to answer a read. A write could then lease a worker without the caller
// learning of it.
func checkDeadline(ctx context.Context, took time.Duration) error {
	deadline, ok := ctx.Deadline()
	if remaining := time.Until(deadline); ok && remaining < took {
		return acquireError(fmt.Errorf("nothing was written, because the store took %v to be read and the context ends in %v: want a context that lasts longer: %w",
			took.Round(time.Millisecond), remaining.Round(time.Millisecond), context.DeadlineExceeded))
	}
	return nil
}

// acquireError wraps the error of a claim.
func acquireError(err error) error { return fmt.Errorf("lease: acquiring a worker: %w", err) }

// A view is the part of the store that a claim has read.
type view struct {
	records map[int]Record
	time    time.Time // the store's clock, or zero if it has no clock
	sample  []int     // keys of the sample of workers that was read, or nil if all were read
}

// readRecords reads the records from which the claim chooses. If the store is a [Getter],
// these are the records of a random sample of the workers, of the workers that this claim
// has already tried to write, and of the layout. Otherwise, or if an earlier attempt has
// found all workers of its sample in use, readRecords reads all records.
func (c *claim) readRecords(ctx context.Context, conn records) (v view, err error) {
	if _, ok := conn.store.(Getter); !ok || c.readAll {
		if v.records, _, err = conn.load(ctx); err != nil {
			return v, err
		}
		if v.time, err = conn.now(ctx); err != nil {
			err = acquireError(err)
		}
		return v, err
	}
	span := c.span()
	keys := span.sample()
	if int64(len(keys)) < span.size() { // otherwise the claim reads all workers
		v.sample = keys
	}
	keys = slices.Concat(keys, slices.Collect(maps.Keys(c.starts)), []int{layoutKey})
	slices.Sort(keys)
	v.records, v.time, err = conn.load(ctx, slices.Compact(keys)...)
	return v, err
}

// pick chooses the worker for which the claim writes a record. It returns false without
// an error if the claim is to try again.
//
// It prefers a worker for which an earlier write of this claim has landed. If the view is
// a random sample, and all workers of the sample are in use, the next attempt reads all
// records. If no worker is free, but the bound of a released worker passes within
// shortWait, the claim pauses until then.
func (c *claim) pick(v view, now int64) (found candidate, ok bool, err error) {
	if found, ok = c.findOwnWrite(v.records); ok {
		return found, true, nil
	}
	if v.sample != nil {
		found, ok = c.chooser.chooseFromSample(v.sample, v.records, now)
		c.readAll = !ok
		return found, ok, nil
	}
	found, err = c.chooser.choose(v.records, now, c.collisions > 0, c.starting)
	var none *NoFreeWorkerError
	if errors.As(err, &none) && none.Wait <= shortWait && none.Holders[0].Owner == "" {
		c.pause = max(none.Wait, 1) // a pause of zero would be none
		return found, false, nil
	}
	return found, err == nil, err
}

// findOwnWrite returns the worker whose record already carries this claim's token,
// because a write has landed without an answer. That the record is visible does not make
// it durable, so it is only the base of the next write.
func (c *claim) findOwnWrite(records map[int]Record) (candidate, bool) {
	for _, key := range slices.Sorted(maps.Keys(c.starts)) {
		if r := records[key]; r.heldBy() == c.token.holder {
			return candidate{key: key, record: r, start: c.starts[key]}, true
		}
	}
	return candidate{}, false
}

// write writes a record for the worker that was found. It returns the worker if the store
// has acknowledged the write and still has the same layout. It returns nil without an error
// if the claim is to try again, because another process has written first, or because the
// write ended without an answer.
//
// If found already has this claim's token, an earlier write has landed. Its first tick is
// then that of the earlier attempt, which c.starts remembers, because the record's bound
// is this claim's own. write lowers no bound: the new bound is a window above now (and
// above the time until which the worker settles), above the first tick, and not below the
// record's.
func (c *claim) write(ctx context.Context, conn records, found candidate, now int64) (*heldWorker, error) {
	c.starts[found.key] = max(c.starts[found.key], found.start)
	c.token.replaced = found.record.Bound
	if t, _ := parseToken(found.record.Owner); t.holder == c.token.holder {
		c.token.replaced = t.replaced // the value that the landed write recorded
	}
	w := c.newWorker(found.key, now)
	r := w.newRecord(max(c.bound(max(now+c.settle.Milliseconds(), c.starts[found.key])), found.record.Bound))
	c.token = w.token // newRecord has counted this write
	ok, err := conn.swap(ctx, found.key, found.record, r)
	switch {
	case ok:
		w.acknowledge(r)
		c.unanswered = slices.DeleteFunc(c.unanswered, func(key int) bool { return key == found.key }) // confirm releases it
		return c.confirm(ctx, conn, w)
	case err == nil:
		c.backOff()
		return nil, nil
	}
	if c.unanswered = append(c.unanswered, found.key); len(c.unanswered) == maxUnknown || ctx.Err() != nil {
		return nil, acquireError(err)
	}
	return nil, nil
}

// confirm reads the layout's record again after the worker's record was written, and
// returns the worker if it is still the record that the claim has compared its layout
// with. If a crash of the store has removed that record, another process may have written
// another layout. confirm then releases the worker, and returns nil so that the claim
// tries again. It does the same, and returns the error, if it cannot read the record. It
// ignores a loss that the release discovers, because the worker has issued no ID.
func (c *claim) confirm(ctx context.Context, conn records, w *heldWorker) (*heldWorker, error) {
	r, err := conn.read(ctx, layoutKey)
	if r == c.layoutRecord && err == nil {
		return w, nil
	}
	_, releaseErr := conn.swapReleased(context.WithoutCancel(ctx), w, w.start)
	return nil, errors.Join(err, releaseErr)
}

// giveUp releases, in the background, the workers that a start has leased by writes without
// an answer. Otherwise each of them would stay leased for a window, and a program that tries
// again and again would soon hold all workers. A write may land later, so giveUp reads the
// records several times, after pauses that double, for a window. It writes only over records
// with this claim's token, and no ID was issued under that token.
func (c *claim) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), max(c.window, c.patience))
	defer cancel()
	left := slices.Compact(slices.Sorted(slices.Values(c.unanswered)))
	for pause := firstRetry; len(left) > 0 && sleep(ctx, pause) == nil; pause *= 2 {
		left = slices.DeleteFunc(left, func(key int) bool { return c.releaseUnanswered(ctx, key) })
	}
}

// releaseUnanswered reads the record of a worker, and releases the worker if the record has
// this claim's token, at the bound from which the claim would have issued. It reports whether
// the store has acknowledged that.
func (c *claim) releaseUnanswered(ctx context.Context, key int) (released bool) {
	conn, disconnect, err := c.records.connect(ctx, c.patience)
	if err != nil {
		return false
	}
	defer disconnect()
	r, err := conn.read(ctx, key)
	if err != nil || r.heldBy() != c.token.holder {
		return false
	}
	t, _ := parseToken(r.Owner)
	c.token.replaced = t.replaced // of this worker, because the claim may have written others since
	w := c.newWorker(key, c.now())
	w.base = r
	lost, err := conn.swapReleased(ctx, w, w.start)
	c.token = w.token // with the number of writes
	return err == nil && lost == nil
}

// backOff counts a collision, which is a write that the store refused because another
// process has written first. It sets a random pause of up to a millisecond for each
// collision so far. The limit grows because on a store that reads from a lagging replica,
// every claim collides until the replica has caught up.
func (c *claim) backOff() {
	c.collisions++
	c.pause = time.Duration(c.random(int64(min(c.collisions, maxCollisions)) * int64(time.Millisecond)))
}

// newWorker returns the worker that the claim is about to write.
func (c *claim) newWorker(key int, now int64) *heldWorker {
	datacenter, worker := numbers(c.layout, key)
	return &heldWorker{
		key: key, datacenter: datacenter, worker: worker, start: c.starts[key], unusedFrom: c.starts[key],
		acquired: time.UnixMilli(now), acquiredAt: time.Now(), token: c.token,
	}
}
