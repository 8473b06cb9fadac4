package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

func workers(l snowflake.Layout) int64     { return 1 << l.WorkerBits }
func datacenters(l snowflake.Layout) int64 { return 1 << l.DatacenterBits }

// numbers undoes key.
func (c *config) numbers(key int) (datacenter, worker int64) {
	return int64(key) >> c.layout.WorkerBits, int64(key) & (workers(c.layout) - 1)
}

func (c *config) key(datacenter, worker int64) int {
	return int(datacenter<<c.layout.WorkerBits | worker)
}

// signature is what the store keeps of a layout. Its form must never change:
// it is compared with what earlier versions have written.
func signature(l snowflake.Layout) string {
	total := l.TotalBits
	if total == 0 {
		total = 63
	}
	return fmt.Sprintf("epoch=%s tick=%v datacenter=%d worker=%d sequence=%d total=%d",
		l.Epoch.UTC().Format(time.RFC3339Nano), l.Tick, l.DatacenterBits, l.WorkerBits, l.SequenceBits, total)
}

var errUnwritten = errors.New("the store refused to replace an absent record")

// joinLayout compares the layout with the one that the store's workers belong to,
// and writes it where there is none: under two layouts one bound would mean two
// different ticks. It returns the record.
//
// One that was only read may vanish before the worker's record is written, and
// another layout take its place: see keptLayout. The number in Bound tells two
// writes of one layout apart.
func (l *Lease) joinLayout(ctx context.Context, store Store, stored Record) (Record, error) {
	own := Record{Bound: rand.Int64(), Owner: signature(l.layout)}
	if stored == (Record{}) {
		ok, err := l.swap(ctx, store, layoutKey, stored, own)
		if ok {
			return own, nil
		}
		records, getErr := l.get(ctx, store, layoutKey)
		if getErr != nil {
			return Record{}, cmp.Or(err, getErr)
		}
		if stored = records[layoutKey]; stored == (Record{}) {
			return Record{}, fmt.Errorf("lease: writing the layout: %w", cmp.Or(err, errUnwritten))
		}
	}
	if stored.Owner != own.Owner {
		return Record{}, fmt.Errorf("lease: the store's workers belong to the layout %q, this one is %q: use the stored layout, or a new namespace for tables that do not share a key column", stored.Owner, own.Owner)
	}
	return stored, nil
}

// keptLayout reports whether the store still has the layout's record, now that it
// has acknowledged a later write: that makes durable what came before.
func (l *Lease) keptLayout(ctx context.Context, store Store, joined Record) (bool, error) {
	records, err := l.get(ctx, store, layoutKey)
	return records[layoutKey] == joined, err
}
