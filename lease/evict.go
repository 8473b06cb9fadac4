package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Evict releases a worker whose holder is known to be dead, or is to stop. h is one of
// in.Holders. Evict keeps the bound, so no ID is issued twice even if the holder is
// alive: within a third of its window the holder finds that the worker is lost
// ([ErrLost]), and takes another worker, or the same again if no other is free. The
// evicted worker is free for other processes once the bound has passed. [WithMaxAhead]
// prefers it to workers that are held.
//
// Evict fails if the record has changed since the inspection, because a holder that has
// renewed its lease is alive. To evict it nevertheless, inspect again. A nil error
// means that the store has acknowledged the write. After an error of the store the
// worker may be released or not.
func (in *Inspection) Evict(ctx context.Context, h Holder) error {
	key, err := in.find(h)
	if err != nil {
		return err
	}
	if h.Owner == "" {
		return fmt.Errorf("lease: datacenter %d worker %d is held by nobody", h.Datacenter, h.Worker)
	}
	return in.replaceRecord(ctx, h, key, Record.withoutHolder)
}

// Lower lowers the bound of a worker without holder to the first tick at or after a
// time. It repairs a bound that a wrong clock has raised by days or years. h is one of
// in.Holders, from an inspection after [Inspection.Evict].
//
// DANGER: only the bound keeps IDs of this worker from being issued twice. The next
// holder issues every tick from the new bound on, even if a previous holder has issued
// it before. The caller must make sure of two conditions, which Lower does not check:
//
//   - Every process that ever held the worker has ended, or has found since the
//     eviction that the worker is lost. A process that is paused, or that cannot reach the
//     store, has not found out and issues up to the old bound.
//   - No ID of the worker at or after the new bound exists: not in a table, an open
//     transaction, a queue or another system.
//
// The command "gormflake workers reset" checks both conditions as far as a database can
// show them, before it lowers a bound. If you can wait until the bound has passed, wait
// instead.
//
// Lower fails if the worker is held, if the bound is already at or below the time, or
// if the record has changed since the inspection. A nil error means that the store has
// acknowledged the write. After an error of the store the record may have the old or
// the new bound.
func (in *Inspection) Lower(ctx context.Context, h Holder, to time.Time) error {
	key, err := in.find(h)
	if err != nil {
		return err
	}
	bound, err := in.boundAt("Lower", to)
	switch {
	case err != nil:
		return err
	case h.Owner != "":
		return fmt.Errorf("lease: %v: want a worker that nobody holds: evict its holder first", h)
	case bound >= in.records[key].Bound:
		return fmt.Errorf("lease: %v: the bound is not above %s: nothing to lower", h, stamp(time.UnixMilli(bound)))
	}
	// The worker has no holder, but withoutHolder also counts the write in the token of the
	// record, if it has one. So each try writes another record, even if an earlier try has
	// already lowered the bound. A try must change the record, because the acknowledgement of
	// a write that changes nothing proves nothing.
	return in.replaceRecord(ctx, h, key, func(r Record) Record { return Record{bound, r.withoutHolder().Owner} })
}

// Raise raises every bound of the layout that is below a time to the first tick at or
// after that time, and returns how many bounds it has raised. It also writes a record
// for workers that have none, because the store may have forgotten their records. A
// layout of more than 65,536 workers is an error. After an error some bounds may be
// raised and others not: inspect again and repeat the call.
//
// Raising is safe at any time. Use it after a store was restored to an earlier state:
// the bounds have fallen, while IDs above them remain in queues, clients and other
// databases. Give a time at or after the last moment at which IDs were issued. Raise
// releases each worker whose bound it raises. A process that still holds the worker
// finds that it is lost, and takes another worker. No worker is free before the clock
// has reached the new bounds.
//
// Raise relies only on acknowledged writes. A bound that is high enough already may
// come from a write that was never acknowledged, and may vanish. It is durable if it
// still stands after the store has acknowledged a later write. So if no bound is too
// low, Raise raises one bound by a tick, and counts it.
func (in *Inspection) Raise(ctx context.Context, to time.Time) (n int, err error) {
	bound, err := in.boundAt("Raise", to)
	if err != nil {
		return 0, err
	}
	count := datacenters(in.Layout) * workers(in.Layout)
	if count > maxRaised {
		return 0, fmt.Errorf("lease: Raise: the layout has %d workers: want at most %d: let the time pass before the first process starts instead", count, maxRaised)
	}
	var highKeys []int // of the workers whose bounds are high enough
	for key := range int(count) {
		if in.records[key].Bound >= bound {
			highKeys = append(highKeys, key)
			continue
		}
		if err := in.raiseBound(ctx, key, bound); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 { // all bounds are high enough, but need an acknowledged write after them
		key := in.unheldOrFirst()
		if err := in.raiseBound(ctx, key, in.records[key].Bound+1); err != nil {
			return 0, err
		}
		n, highKeys = 1, slices.DeleteFunc(highKeys, func(k int) bool { return k == key })
	}
	return in.raiseChanged(ctx, to, n, highKeys)
}

// raiseChanged checks the workers whose keys are in highKeys. Raise has found their bounds high
// enough, and so has not written them. Such a bound may come from a write that the store never
// acknowledged and has since forgotten in a crash. So raiseChanged inspects the store again,
// and repeats Raise if the record of such a worker has changed. n is the number of bounds that
// Raise has raised before. raiseChanged returns n plus the bounds that the repetition raises.
func (in *Inspection) raiseChanged(ctx context.Context, to time.Time, n int, highKeys []int) (int, error) {
	if len(highKeys) == 0 {
		return n, nil
	}
	again, err := Inspect(ctx, in.store)
	if err != nil {
		return n, err
	}
	for _, key := range highKeys {
		if again.records[key] != in.records[key] {
			more, err := again.Raise(ctx, to)
			return n + more, err
		}
	}
	return n, nil
}

// maxRaised is the largest number of workers of a layout for Raise, which writes up to one
// record for each.
const maxRaised = 1 << 16

// boundAt returns a time as a bound in Unix milliseconds, rounded up to a whole tick, or an
// error if the layout cannot express the time. method is the name of the calling method, for
// the error.
func (in *Inspection) boundAt(method string, t time.Time) (int64, error) {
	if in.store == nil {
		return 0, errNoStore
	}
	if in.Layout == (snowflake.Layout{}) {
		return 0, fmt.Errorf("lease: %s: the store has no layout, since no worker was ever leased: want a store, and a namespace, with records", method)
	}
	if t.Before(in.Layout.Epoch) || !t.Before(in.Layout.Expires()) {
		return 0, fmt.Errorf("lease: %s: time %s out of range [%s, %s) of the layout", method, stamp(t), stamp(in.Layout.Epoch), stamp(in.Layout.Expires()))
	}
	bound := t.UnixMilli()
	if t.After(time.UnixMilli(bound)) { // UnixMilli has cut off a part of a millisecond
		bound++
	}
	return ceil(bound, in.Layout.Tick.Milliseconds()), nil
}

// unheldOrFirst returns the key of the worker whose bound Raise raises if all bounds are high
// enough. That is a worker without a holder, because a holder would lose its worker. If all
// workers are held, it is worker 0 of datacenter 0, whose key is 0.
func (in *Inspection) unheldOrFirst() int {
	for _, h := range in.Holders {
		if h.Owner == "" {
			return keyOf(in.Layout, h.Datacenter, h.Worker)
		}
	}
	return 0
}

// raiseBound raises the bound of the worker with this key to the argument bound, and releases
// the worker, even if its record has changed since the inspection. If the bound in the record
// is already that high, it rises to the next tick, because a bound that was only read may not
// be durable.
func (in *Inspection) raiseBound(ctx context.Context, key int, bound int64) error {
	tick := in.Layout.Tick.Milliseconds()
	update := func(r Record) Record {
		return Record{max(bound, ceil(r.Bound+1, tick)), r.withoutHolder().Owner}
	}
	// true forces the write even if the record has changed since the inspection.
	if err := in.writeAcknowledged(ctx, key, true, update); err != nil {
		datacenter, worker := splitKey(in.Layout, key)
		return fmt.Errorf("lease: raising datacenter %d worker %d: %w", datacenter, worker, err)
	}
	return nil
}

// replaceRecord replaces the record of h, which has the key, by the record that update returns
// for it. It fails if another process has written the record since the inspection.
func (in *Inspection) replaceRecord(ctx context.Context, h Holder, key int, update func(Record) Record) error {
	// false makes another process's write an error.
	if err := in.writeAcknowledged(ctx, key, false, update); err != nil {
		return fmt.Errorf("lease: %v: %w", h, err)
	}
	return nil
}

// maxTries is how often writeAcknowledged tries a write. A write fails if its answer is
// lost, or if the holder extends its window at the same moment. Five such failures in a
// row are rare.
const maxTries = 5

// errUnacked is the error if writeAcknowledged reads back the record that it has written
// without an acknowledgement, and update would not change this record. A write that changes
// nothing would prove nothing.
var errUnacked = errors.New("the store shows the new record and has not acknowledged it: inspect again")

// writeAcknowledged replaces the record r of the worker with this key by update(r), and
// returns nil once the store has acknowledged the write. First, r is the record of the
// inspection. After a write without an acknowledgement, writeAcknowledged reads the record and
// replaces the record that it has read, up to maxTries times in total. It also replaces its own
// new record, because until the store has acknowledged a later write, it may lose that record
// in a crash.
//
// If force is false, a record that another process has written since the inspection is an
// error. If force is true, writeAcknowledged replaces such a record too.
func (in *Inspection) writeAcknowledged(ctx context.Context, key int, force bool, update func(Record) Record) error {
	r := in.records[key]
	ours := map[Record]bool{r: true} // the inspection's record, and the records of this call's tries
	for try := 1; ; try++ {
		next := update(r)
		if next == r { // a write would change nothing, so that its acknowledgement would prove nothing
			return errUnacked
		}
		ours[next] = true
		ok, err := in.store.CompareAndSwap(ctx, key, r, next)
		if ok {
			return nil
		}
		if try == maxTries || ctx.Err() != nil {
			return cmp.Or(err, errRefused)
		}
		records, loadErr := in.store.Load(ctx)
		if loadErr != nil {
			return cmp.Or(err, loadErr)
		}
		if r = records[key]; !force && !ours[r] {
			return in.changedError(key, r)
		}
	}
}

// changedError returns the error for a record r that another process has written since the
// inspection. If the holder of the inspection has written r, it has renewed its lease.
func (in *Inspection) changedError(key int, r Record) error {
	if owner := in.records[key].heldBy(); owner != "" && r.heldBy() == owner {
		return fmt.Errorf("it is alive, and has renewed its lease until %s", stamp(time.UnixMilli(r.Bound)))
	}
	return fmt.Errorf("the record has changed since the inspection: it is now %v", holderOf(in.Layout, key, r))
}

// withoutHolder returns the record as released, with the same bound and token. It counts one
// more write in the token, so that the result differs from r even if r is released already. If
// the owner of r is not a token, the result has no owner, and may be equal to r.
func (r Record) withoutHolder() Record {
	t, ok := parseToken(r.Owner)
	if !ok {
		return Record{Bound: r.Bound}
	}
	t.writes++
	t.released = true
	return Record{r.Bound, t.owner()}
}
