package lease

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

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
