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

// An Inspection is the contents of a [Store] at one moment. [Inspect] returns it. Its
// methods may be called concurrently. They write to the store and do not change the
// Inspection: inspect again to see the result.
type Inspection struct {
	// Layout is the layout that the store's workers belong to. It is the zero Layout if
	// no worker was ever leased.
	Layout snowflake.Layout

	// Holders are all workers that were ever leased, sorted by datacenter and worker.
	// The other workers of the layout are free.
	Holders []Holder

	store   Store
	records map[int]Record // records of the workers, by key
}

// Inspect reads all records of the store, for people and their tools. It needs no
// layout, leases no worker and does not write. The store may still prepare itself at
// its first call, for example package sqllease creates its table unless told not to. An
// error of the store is returned, wrapped or as it is. An Inspection need not be
// closed.
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
		in.Holders = append(in.Holders, holderOf(in.Layout, key, r))
	}
	slices.SortFunc(in.Holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Worker, b.Worker))
	})
	return in, nil
}

// find returns the key of the record of h. It returns an error if h is not a holder that the
// inspection has returned, because other numbers could have the key of another record. For
// example, datacenter 0 worker -1 would have the key -1 of the layout's record.
func (in *Inspection) find(h Holder) (key int, err error) {
	if in.store == nil {
		return 0, errNoStore
	}
	key = keyOf(in.Layout, h.Datacenter, h.Worker)
	r, known := in.records[key]
	if !known || h != holderOf(in.Layout, key, r) {
		return 0, fmt.Errorf("lease: %v is not a holder of this inspection: want one of its Holders, unchanged", h)
	}
	return key, nil
}

// A Holder is a worker with the owner and bound of its record.
type Holder struct {
	Datacenter, Worker int64
	Owner              string        // host/process/random, or empty if the worker is released
	Until              time.Time     // the bound
	Window             time.Duration // the window of the holder, or of the last holder; zero if unknown
}

// A HolderState is the state of a worker for a process that wants to acquire it.
type HolderState int

// The states of a worker, derived from its record and a clock.
const (
	// Held means that the worker has a holder and its bound is ahead of the clock.
	Held HolderState = iota
	// Lapsed means that the bound has passed and the worker was not released, because
	// its holder has died, is suspended or is cut off from the store. The worker is
	// free.
	Lapsed
	// Waiting means that the worker was released with a bound ahead of the clock. It is
	// free once the clock has reached the bound.
	Waiting
	// Free means that the worker was released and its bound has passed.
	Free
)

// String returns the name of the state in lower case.
func (s HolderState) String() string {
	names := []string{"held", "lapsed", "waiting", "free"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("HolderState(%d)", int(s))
	}
	return names[s]
}

// State returns the state of the worker at now.
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

// holderOf returns the record r of the worker with this key as a Holder, which is the form for
// people and tools.
func holderOf(layout snowflake.Layout, key int, r Record) Holder {
	datacenter, worker := splitKey(layout, key)
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
