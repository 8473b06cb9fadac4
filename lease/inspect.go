package lease

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// An Inspection is what a [Store] held at one moment, as [Inspect] returns it. Its
// methods may be called concurrently. They write to the store and leave the
// Inspection as it is: inspect again to see what they have done.
type Inspection struct {
	// Layout is the one that the store's workers belong to. It is the zero
	// Layout if no worker was ever leased.
	Layout snowflake.Layout

	// Holders are all workers that were ever leased, in the order of their
	// numbers. The layout's others are free.
	Holders []Holder

	store   Store
	records map[int]Record // of the workers, by key
}

// Inspect reads who holds which worker, for people and their tools. It needs
// no layout, leases no worker and writes nothing; a store may still prepare
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
	in.records = maps.Clone(records)
	delete(in.records, layoutKey)
	for key, r := range in.records {
		in.Holders = append(in.Holders, holder(in.Layout, key, r))
	}
	slices.SortFunc(in.Holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Worker, b.Worker))
	})
	return in, nil
}

// find returns the key of a holder. One that the inspection did not return is refused:
// its numbers may lead to another record, such as the layout's.
func (in *Inspection) find(h Holder) (key int, err error) {
	if in.store == nil {
		return 0, errNoStore
	}
	key = keyOf(in.Layout, h.Datacenter, h.Worker)
	r, known := in.records[key]
	if !known || h != holder(in.Layout, key, r) {
		return 0, fmt.Errorf("lease: %v is not a holder of this inspection: want one of its Holders, unchanged", h)
	}
	return key, nil
}

// A Holder is a worker and who holds it.
type Holder struct {
	Datacenter, Worker int64
	Owner              string        // host/process/random, or empty if the worker is released
	Until              time.Time     // its bound
	Window             time.Duration // of the holder, or of the last one; zero if it is not known
}

// A HolderState is what a record means to a process that wants a worker.
type HolderState int

// The states of a worker, by its record and a clock.
const (
	// Held: the bound is ahead of the clock.
	Held HolderState = iota
	// Lapsed: the bound has passed and the worker was not released. Its
	// holder has died, is suspended or is cut off from the store. The worker
	// is free.
	Lapsed
	// Waiting: released, with a bound ahead of the clock. It is free once
	// the clock gets there.
	Waiting
	// Free: released, and the bound has passed.
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

// State returns what the record means at now.
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

func holder(layout snowflake.Layout, key int, r Record) Holder {
	datacenter, worker := numbers(layout, key)
	t, _ := parseToken(r.Owner)
	return Holder{
		Datacenter: datacenter,
		Worker:     worker,
		Owner:      r.heldBy(),
		Until:      time.UnixMilli(r.Bound),
		Window:     time.Duration(t.window) * time.Millisecond,
	}
}

// String names the worker, its holder and its bound, for errors.
func (h Holder) String() string {
	owner := h.Owner
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Sprintf("datacenter %d worker %d by %s until %s", h.Datacenter, h.Worker, owner, stamp(h.Until))
}
