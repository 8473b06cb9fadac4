package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// An Inspection is what a [Store] held at one moment. [Inspect] makes it.
type Inspection struct {
	// Layout is the one that the store's workers belong to. It is the zero
	// Layout where no lease was ever acquired.
	Layout snowflake.Layout

	// Holders are all workers that were ever taken, in the order of their
	// numbers. The layout's others are free.
	Holders []Holder

	store Store
}

// Inspect reads who holds which worker, for people and their tools. It needs
// no layout, takes no worker and writes nothing; a store may still prepare
// itself at its first call, as package sqllease does unless told not to. An
// error of the store is returned, wrapped or as it is. There is nothing to
// close.
func Inspect(ctx context.Context, store Store) (*Inspection, error) {
	if store == nil {
		return nil, errNoStore
	}
	records, err := store.Load(ctx)
	if err != nil {
		return nil, err
	}
	in := &Inspection{store: store}
	if len(records) == 0 {
		return in, nil
	}
	if in.Layout, err = parseSignature(records[layoutKey].Owner); err != nil {
		return nil, err
	}
	delete(records, layoutKey)
	for key, r := range records {
		in.Holders = append(in.Holders, in.config().holder(key, r))
	}
	slices.SortFunc(in.Holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Worker, b.Worker))
	})
	return in, nil
}

func (in *Inspection) config() *config { return &config{layout: in.Layout} }

// Evict takes a worker from a holder that is known to be dead, or is to stop.
// It never lowers the bound, so nothing is issued twice even if the holder
// lives: that one may use the rest of its window, then finds that it is lost
// ([ErrLost]) and takes another worker.
//
// It does not make the worker free at once: who takes it next starts at the
// bound, and [Acquire] waits for that to pass. What is gained is that
// [WithMaxAhead] prefers the worker to those that are held, and robs nobody
// alive by taking it.
//
// It fails where the record is no longer the holder's: one that was extended
// meanwhile has shown that its holder is alive. Inspect again to go on all the
// same.
func (in *Inspection) Evict(ctx context.Context, h Holder) error {
	if in.store == nil {
		return errNoStore
	}
	if h.Owner == "" {
		return fmt.Errorf("lease: datacenter %d worker %d is held by nobody", h.Datacenter, h.Worker)
	}
	key := in.config().key(h.Datacenter, h.Worker)
	bound := h.Until.UnixMilli()
	ok, err := in.store.CompareAndSwap(ctx, key, Record{bound, h.Owner}, Record{Bound: bound})
	if ok {
		return nil
	}
	records, loadErr := in.store.Load(ctx)
	if loadErr != nil {
		return cmp.Or(err, loadErr)
	}
	switch r := records[key]; {
	case r.Owner != h.Owner && err != nil && r == (Record{Bound: bound}):
		return nil // the write has landed, its answer has not
	case r.Owner == h.Owner && r.Bound > bound:
		return fmt.Errorf("lease: %v has extended its window to %s in the meantime: it is alive", h, stamp(time.UnixMilli(r.Bound)))
	case r.Owner != h.Owner:
		return fmt.Errorf("lease: %v no longer holds its worker: %v", h, in.config().holder(key, r))
	}
	return cmp.Or(err, errors.New("lease: the store refused to replace the record that it holds"))
}

// A HolderState tells what a record means to a process that wants a worker.
type HolderState int

// The states of a worker, by its record and a clock.
const (
	// Held: the bound is ahead of the clock.
	Held HolderState = iota
	// Lapsed: the bound has passed and the worker was not given back. Its
	// holder has died, is suspended or is cut off from the store. The worker
	// is free.
	Lapsed
	// Waiting: given back, with a bound ahead of the clock. It is free once
	// the clock gets there.
	Waiting
	// Free: given back, and the bound has passed.
	Free
)

// String names the state in lower case.
func (s HolderState) String() string {
	names := []string{"held", "lapsed", "waiting", "free"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("HolderState(%d)", int(s))
	}
	return names[s]
}

// State tells what the record means at now.
func (h Holder) State(now time.Time) HolderState {
	passed := h.Until.UnixMilli() <= now.UnixMilli()
	switch {
	case h.Owner != "" && passed:
		return Lapsed
	case h.Owner != "":
		return Held
	case passed:
		return Free
	}
	return Waiting
}

func (c *config) holder(key int, r Record) Holder {
	datacenter, worker := c.numbers(key)
	return Holder{datacenter, worker, r.Owner, time.UnixMilli(r.Bound)}
}

// parseSignature undoes signature, and reads nothing else.
func parseSignature(s string) (snowflake.Layout, error) {
	var l snowflake.Layout
	var epoch, tick string
	_, scanErr := fmt.Sscanf(s, "epoch=%s tick=%s datacenter=%d worker=%d sequence=%d total=%d",
		&epoch, &tick, &l.DatacenterBits, &l.WorkerBits, &l.SequenceBits, &l.TotalBits)
	var epochErr, tickErr error
	l.Epoch, epochErr = time.Parse(time.RFC3339Nano, epoch)
	l.Tick, tickErr = time.ParseDuration(tick)
	if err := errors.Join(scanErr, epochErr, tickErr, l.Validate()); err != nil || signature(l) != s {
		return snowflake.Layout{}, fmt.Errorf("lease: the store's workers belong to the layout %q, want one as %q: the records are not those of a lease, or of a later version",
			strings.ToValidUTF8(s, "?"), signature(snowflake.TwitterLayout()))
	}
	return l, nil
}
