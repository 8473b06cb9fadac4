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
	// worker to pass. If the bound is further ahead, the claim fails instead.
	shortWait = time.Second

	// maxUnanswered is how many writes of a claim may end without an answer. The claim fails
	// at the last of them. waitSettled repeats a failed extension as often.
	maxUnanswered = 3

	// maxCollisions is the number of collisions after which the limit of the pause grows no
	// further; see backOff.
	maxCollisions = 100
)

// A claim looks for a free worker and writes a record for it. All writes of a claim carry
// the same holder in their token. So if the store did not answer a write, the claim reads the
// record, and sees by its token whether the write has landed.
type claim struct {
	*config
	records   records
	chooser   *chooser
	clocks    *clocks
	starting  bool                  // the process starts; otherwise the claim replaces a lost worker
	readClock func() (int64, error) // returns the present, in Unix milliseconds
	patience  time.Duration         // how long to wait for a connection

	token        token
	layoutRecord Record        // the layout's record with which the claim has compared its own layout
	readAll      bool          // the next attempt reads all records, because all workers of a sample were in use
	starts       map[int]int64 // by key of each worker tried: the first tick that no other process can have issued, in Unix ms
	collisions   int           // writes that the store refused, because another process wrote first
	unanswered   []int         // keys of the workers for which a write ended without an answer
	pause        time.Duration // before the next attempt
}

// search repeats attempts under a new token until one returns a worker or an error. It
// has a value receiver, so that each search starts without the state of an earlier
// search. If the first claim of a process fails, search releases the workers that it may have
// leased by writes without an answer, because a program that starts again and again would
// otherwise soon hold all workers.
func (c claim) search(ctx context.Context) (*heldWorker, error) {
	c.token, c.starts = newToken(c.window), map[int]int64{}
	for {
		w, err := c.attempt(ctx)
		if err != nil && c.starting && len(c.unanswered) > 0 {
			go c.releaseAllUnanswered() // in the background, because the caller gets its error now
		}
		if w != nil || err != nil {
			return w, err
		}
	}
}

// attempt waits for the claim's turn, if the store is a [Queue], and tries once to write a
// record. If it returns neither a worker nor an error, the caller is to try again at once. If
// a pause before the next attempt was due, attempt has already waited for it.
func (c *claim) attempt(ctx context.Context) (*heldWorker, error) {
	leave, err := c.records.enter(ctx)
	if err != nil {
		return nil, err
	}
	c.pause = 0
	w, err := c.attemptInTurn(ctx)
	leave() // before the pause, so that another claim has its turn meanwhile
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

// checkSettle returns an error if the store may forget writes (see [Settler]), unless the
// lease waits for at least a window before it issues under a new worker (see [WithSettle]).
func (c *claim) checkSettle() error {
	if settler, ok := c.records.store.(Settler); ok && c.settle < c.window {
		return settler.Unsettled()
	}
	return nil
}

// checkDeadline returns an error if ctx probably ends before the store can answer a write,
// because less time is left than took, which is the time that the store took to answer a
// read. Such a write could lease a worker although the caller gets an error and exits.
func checkDeadline(ctx context.Context, took time.Duration) error {
	deadline, ok := ctx.Deadline()
	if remaining := time.Until(deadline); ok && remaining < took {
		return acquireError(fmt.Errorf("nothing was written, because the store took %v to be read and the context ends in %v: want a context that lasts longer: %w",
			took.Round(time.Millisecond), remaining.Round(time.Millisecond), context.DeadlineExceeded))
	}
	return nil
}

// acquireError adds to an error of a claim that a worker was being acquired.
func acquireError(err error) error { return fmt.Errorf("lease: acquiring a worker: %w", err) }

// A view is the part of the store that a claim has read.
type view struct {
	records map[int]Record
	time    time.Time // the store's clock, or zero if it has no clock
	sample  []int     // keys of the sample of workers that was read, or nil if all were read
}

// readRecords reads the records from which the claim chooses. If the store is a [Getter],
// these are the records of a random sample of the workers, of the workers for which this
// claim has already tried to write (because a write without an answer may have landed), and of
// the layout. Otherwise, or if an earlier attempt has found all workers of its sample in use,
// readRecords reads all records.
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
	if int64(len(keys)) < span.size() { // otherwise keys has all workers that the claim may acquire
		v.sample = keys
	}
	keys = slices.Concat(keys, slices.Collect(maps.Keys(c.starts)), []int{layoutKey})
	slices.Sort(keys) // for Compact, because Getter allows no key twice
	v.records, v.time, err = conn.load(ctx, slices.Compact(keys)...)
	return v, err
}

// pick chooses the worker for which the claim writes a record. It returns false without
// an error if the claim is to try again.
//
// It prefers a worker for which an earlier write of this claim has landed. If the view is
// a random sample, and all workers of the sample are in use, the claim tries again and then
// reads all records. If no worker is free, but the worker that is free next was released and
// its bound passes within shortWait, the claim pauses until then and tries again.
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
	var noFree *NoFreeWorkerError
	if errors.As(err, &noFree) && noFree.Wait <= shortWait && noFree.Holders[0].Owner == "" {
		c.pause = max(noFree.Wait, 1) // above zero, because attempt does not sleep for a pause of zero
		return found, false, nil
	}
	return found, err == nil, err
}

// findOwnWrite returns the worker whose record already carries this claim's token, because an
// earlier write has landed although the store did not answer. The record is visible, but may
// not be durable, so the claim writes again, over this record.
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
// The new bound is a window after the end of settling (which is now without [WithSettle]), or
// a window after the first tick of the worker if that is later. It is never below the bound
// in the record, because a bound must not fall.
//
// If the found record already has this claim's token, an earlier write of this claim has
// landed, and the bound in the record is this claim's own. The first tick of the worker is then
// the tick that the earlier attempt has noted in c.starts, and the token keeps the bound that
// the landed write has replaced.
func (c *claim) write(ctx context.Context, conn records, found candidate, now int64) (*heldWorker, error) {
	c.starts[found.key] = max(c.starts[found.key], found.start)
	c.token.replaced = found.record.Bound
	if t, _ := parseToken(found.record.Owner); t.holder == c.token.holder {
		c.token.replaced = t.replaced
	}
	w := c.newWorker(found.key, now)
	r := w.newRecord(max(c.bound(max(now+c.settle.Milliseconds(), c.starts[found.key])), found.record.Bound))
	c.token = w.token // newRecord has counted this write
	ok, err := conn.swap(ctx, found.key, found.record, r)
	switch {
	case ok: // acknowledged
		w.acknowledge(r)
		// The worker is not for releaseAllUnanswered, because confirm releases it if need be.
		c.unanswered = slices.DeleteFunc(c.unanswered, func(key int) bool { return key == found.key })
		return c.confirm(ctx, conn, w)
	case err == nil: // refused, because another process has written first
		c.backOff()
		return nil, nil
	}
	if c.unanswered = append(c.unanswered, found.key); len(c.unanswered) == maxUnanswered || ctx.Err() != nil {
		return nil, acquireError(err)
	}
	return nil, nil
}

// confirm reads the layout's record again after the record of the worker w was written. It
// returns w if the layout's record is still the record with which the claim has compared its
// own layout. Otherwise a crash of the store has removed that record, and another process may
// have written another layout. confirm then releases w, and returns nil so that the claim
// tries again. If it cannot read the record, it also releases w, and returns the error. It
// ignores a loss that the release discovers, because no ID was issued under w.
func (c *claim) confirm(ctx context.Context, conn records, w *heldWorker) (*heldWorker, error) {
	r, err := conn.read(ctx, layoutKey)
	if r == c.layoutRecord && err == nil {
		return w, nil
	}
	// Release w even if ctx has ended, because otherwise it stays leased for a window.
	_, releaseErr := conn.swapReleased(context.WithoutCancel(ctx), w, w.start)
	return nil, errors.Join(err, releaseErr)
}

// releaseAllUnanswered releases the workers that this claim, which has failed, may have leased
// by writes without an answer. Otherwise each of these workers would stay leased for a window,
// and a program that starts again and again would soon hold all workers.
//
// A write may land after a while, so releaseAllUnanswered reads the records several times,
// after pauses that double. It ends when it has released all these workers, or after a window
// (or after patience, if that is longer). It uses a context of its own, because the context of
// Acquire may have ended. It writes only over records with this claim's token, under which no
// ID was issued.
func (c *claim) releaseAllUnanswered() {
	ctx, cancel := context.WithTimeout(context.Background(), max(c.window, c.patience))
	defer cancel()
	remaining := slices.Compact(slices.Sorted(slices.Values(c.unanswered)))
	for pause := firstRetry; len(remaining) > 0 && sleep(ctx, pause) == nil; pause *= 2 {
		remaining = slices.DeleteFunc(remaining, func(key int) bool { return c.releaseUnanswered(ctx, key) })
	}
}

// releaseUnanswered reads the record of a worker, and releases the worker if the record has
// this claim's token. The bound of the released record is the first tick that the claim could
// have issued. releaseUnanswered reports whether it has released the worker. It returns false
// if the store returns an error. It also returns false if the record does not have this
// claim's token, because the claim's write may still land.
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
	c.token.replaced = t.replaced // because the claim may have written for other workers since
	w := c.newWorker(key, c.now())
	w.base = r
	lost, err := conn.swapReleased(ctx, w, w.start)
	c.token = w.token // because swapReleased has counted its writes in the token
	return err == nil && lost == nil
}

// backOff counts a collision, which is a write that the store refused because another
// process has written first. It sets a random pause before the next attempt, of up to a
// millisecond for each collision so far, for example up to 5 ms after 5 collisions. The limit
// grows because on a store that reads from a lagging replica, every claim collides until the
// replica has caught up.
func (c *claim) backOff() {
	c.collisions++
	c.pause = time.Duration(c.random(int64(min(c.collisions, maxCollisions)) * int64(time.Millisecond)))
}

// newWorker returns the worker for which the claim is about to write a record. now is in Unix
// milliseconds.
func (c *claim) newWorker(key int, now int64) *heldWorker {
	datacenter, worker := splitKey(c.layout, key)
	return &heldWorker{
		key: key, datacenter: datacenter, worker: worker, start: c.starts[key], unusedFrom: c.starts[key],
		acquired: time.UnixMilli(now), acquiredAt: time.Now(), token: c.token,
	}
}
