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

// Evict releases a worker whose holder is known to be dead, or is to stop. h is
// one of in.Holders. The bound stays, so no ID is issued twice even if the holder
// is alive: it finds within a third of its window that the worker is lost
// ([ErrLost]), and takes another one. The worker is free once the bound has passed,
// and [WithMaxAhead] prefers it to those that are held.
//
// It fails if the record is no longer the holder's: one that has renewed its
// lease has shown that it is alive. Inspect again to evict it all the same. Nil
// means that the store has acknowledged the write; after an error of the store
// the worker may be released or not.
func (in *Inspection) Evict(ctx context.Context, h Holder) error {
	key, err := in.find(h)
	if err != nil {
		return err
	}
	if h.Owner == "" {
		return fmt.Errorf("lease: datacenter %d worker %d is held by nobody", h.Datacenter, h.Worker)
	}
	return in.change(ctx, h, key, Record.withoutHolder)
}

// Lower lowers the bound of a worker that nobody holds to the first tick at or
// after a time, for a bound that a wrong clock has raised by days or years. h is
// one of in.Holders, released by [Inspection.Evict] and inspected again.
//
// DANGER: the bound is all that keeps IDs of this worker from being issued
// twice. The next holder issues every tick from the new bound on, once more
// if one was issued before. Lower checks none of what must be true:
//
//   - Every process that ever held the worker has ended, or has found since the
//     eviction that the worker is lost. One that cannot reach the store, or is
//     paused, has found nothing and issues up to the old bound.
//   - No ID of the worker at or after the new bound is anywhere: in no table, in
//     no open transaction, in no queue, in no other system.
//
// The command "gormflake workers reset" checks what a database can show of that
// before it lowers a bound. Where waiting until the bound has passed is possible,
// wait instead.
//
// It fails if the worker is held, if the bound is at or below the time already,
// and if the record has changed since the inspection. Nil means that the store
// has acknowledged the write; after an error of the store the bound may be either.
func (in *Inspection) Lower(ctx context.Context, h Holder, to time.Time) error {
	key, err := in.find(h)
	if err != nil {
		return err
	}
	bound, err := in.tickAt("Lower", to)
	switch {
	case err != nil:
		return err
	case h.Owner != "":
		return fmt.Errorf("lease: %v: want a worker that nobody holds: evict its holder first", h)
	case bound >= in.records[key].Bound:
		return fmt.Errorf("lease: %v: the bound is not above %s: nothing to lower", h, stamp(time.UnixMilli(bound)))
	}
	return in.change(ctx, h, key, func(r Record) Record { return Record{bound, r.withoutHolder().Owner} })
}

// Raise raises the bound of every worker of the layout that is below the first
// tick at or after a time to that tick, and returns how many it has raised. Workers
// that have no record get one: they may have had one that the store has forgotten.
// A layout of more than 65,536 workers is an error. After an error some bounds are
// raised and others are not: inspect again and repeat the call.
//
// Raising is safe at any time. It is for a store that was restored to an earlier
// state: its bounds have fallen, while IDs from above them remain in queues, clients
// and other databases. Give a time at or after the last moment at which IDs were
// issued. A worker whose bound is raised is released: a process that still holds it
// finds that it is lost, and takes another one. No worker is free before the clock has
// reached the new bounds.
//
// What counts is what the store acknowledges. A bound that is high enough already may
// have been read from a write that was never acknowledged. It is durable if it still
// stands after the store has acknowledged a later write: if there is nothing to raise,
// one bound is raised by a tick for that reason, and counted.
func (in *Inspection) Raise(ctx context.Context, to time.Time) (n int, err error) {
	bound, err := in.tickAt("Raise", to)
	if err != nil {
		return 0, err
	}
	workers := datacenters(in.Layout) * workers(in.Layout)
	if workers > maxRaised {
		return 0, fmt.Errorf("lease: Raise: the layout has %d workers: want at most %d: let the time pass before the first process starts instead", workers, maxRaised)
	}
	var high []int
	for key := range int(workers) {
		if in.records[key].Bound >= bound {
			high = append(high, key)
			continue
		}
		if err := in.raise(ctx, key, bound); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 {
		key := in.spare()
		if err := in.raise(ctx, key, in.records[key].Bound+1); err != nil {
			return 0, err
		}
		n, high = 1, slices.DeleteFunc(high, func(k int) bool { return k == key })
	}
	return in.raiseChanged(ctx, to, n, high)
}

// raiseChanged raises again if one of the workers whose bound was high enough has
// another record by now: the one that was read may have vanished.
func (in *Inspection) raiseChanged(ctx context.Context, to time.Time, n int, high []int) (int, error) {
	if len(high) == 0 {
		return n, nil
	}
	again, err := Inspect(ctx, in.store)
	if err != nil {
		return n, err
	}
	for _, key := range high {
		if again.records[key] != in.records[key] {
			more, err := again.Raise(ctx, to)
			return n + more, err
		}
	}
	return n, nil
}

// maxRaised is how many workers Raise raises, each by a write.
const maxRaised = 1 << 16

// tickAt is a time as a bound: rounded up to whole ticks.
func (in *Inspection) tickAt(what string, t time.Time) (int64, error) {
	if in.store == nil {
		return 0, errNoStore
	}
	if in.Layout == (snowflake.Layout{}) {
		return 0, fmt.Errorf("lease: %s: the store has no layout, since no worker was ever leased: want a store, and a namespace, with records", what)
	}
	if t.Before(in.Layout.Epoch) || !t.Before(in.Layout.Expires()) {
		return 0, fmt.Errorf("lease: %s: time %s out of range [%s, %s) of the layout", what, stamp(t), stamp(in.Layout.Epoch), stamp(in.Layout.Expires()))
	}
	bound := t.UnixMilli()
	if t.After(time.UnixMilli(bound)) {
		bound++
	}
	return ceil(bound, in.Layout.Tick.Milliseconds()), nil
}

// spare is the worker whose loss disturbs least: one that nobody holds, if there
// is any. All workers of the layout have a record.
func (in *Inspection) spare() int {
	for _, h := range in.Holders {
		if h.Owner == "" {
			return keyOf(in.Layout, h.Datacenter, h.Worker)
		}
	}
	return 0
}

// raise raises one bound, even if the record has changed since the inspection. One
// that has risen is raised by a tick: it was only read.
func (in *Inspection) raise(ctx context.Context, key int, bound int64) error {
	tick := in.Layout.Tick.Milliseconds()
	to := func(r Record) Record {
		return Record{max(bound, ceil(r.Bound+1, tick)), r.withoutHolder().Owner}
	}
	if err := in.swap(ctx, key, true, to); err != nil {
		datacenter, worker := numbers(in.Layout, key)
		return fmt.Errorf("lease: raising datacenter %d worker %d: %w", datacenter, worker, err)
	}
	return nil
}

// change replaces the record of h unless another process has written it since the
// inspection.
func (in *Inspection) change(ctx context.Context, h Holder, key int, to func(Record) Record) error {
	if err := in.swap(ctx, key, false, to); err != nil {
		return fmt.Errorf("lease: %v: %w", h, err)
	}
	return nil
}

// maxTries is how often a write is tried.
const maxTries = 5

var (
	errRefused = errors.New("the store refused to replace the record that it holds")
	errUnacked = errors.New("the store shows the new record and has not acknowledged it: inspect again")
)

// swap writes what to makes of the record, until the store has acknowledged it.
// Without an answer the record is read again, as the base of another write: one that
// another process has written is replaced only with force. What is read shows nothing,
// not even if it is what was written: it may vanish when the store crashes.
func (in *Inspection) swap(ctx context.Context, key int, force bool, to func(Record) Record) error {
	r := in.records[key]
	ours := map[Record]bool{r: true}
	for try := 1; ; try++ {
		next := to(r)
		if next == r {
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
			return in.changed(key, r)
		}
	}
}

// changed is the error of a record that another process has written.
func (in *Inspection) changed(key int, r Record) error {
	if owner := in.records[key].heldBy(); owner != "" && r.heldBy() == owner {
		return fmt.Errorf("it is alive, and has renewed its lease until %s", stamp(time.UnixMilli(r.Bound)))
	}
	return fmt.Errorf("the record has changed since the inspection: it is now %v", holder(in.Layout, key, r))
}

// withoutHolder returns the record of the same grant with no holder. It differs from r,
// also where that one is released already, unless its owner is not a token.
func (r Record) withoutHolder() Record {
	t, ok := parseToken(r.Owner)
	if !ok {
		return Record{Bound: r.Bound}
	}
	t.writes++
	t.released = true
	return Record{r.Bound, t.owner()}
}
