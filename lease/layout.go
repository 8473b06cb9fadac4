package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

func workers(l snowflake.Layout) int64     { return 1 << l.WorkerBits }
func datacenters(l snowflake.Layout) int64 { return 1 << l.DatacenterBits }

func keyOf(l snowflake.Layout, datacenter, worker int64) int {
	return int(datacenter<<l.WorkerBits | worker)
}

// numbers undoes keyOf.
func numbers(l snowflake.Layout, key int) (datacenter, worker int64) {
	return int64(key) >> l.WorkerBits, int64(key) & (workers(l) - 1)
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
		return snowflake.Layout{}, fmt.Errorf("lease: the store's workers belong to the layout %q: want one as %q: the records are not a lease's, or of a later version",
			strings.ToValidUTF8(s, "?"), signature(snowflake.TwitterLayout()))
	}
	return l, nil
}

var errUnwritten = errors.New("the store refused to replace an absent record")

// warnOfMissingLayout logs that workers have records and their layout has none: it was
// deleted, and the one that is written now is not compared with it.
func (r records) warnOfMissingLayout(ctx context.Context, c *config) error {
	all, _, err := r.load(ctx)
	layout := all[layoutKey]
	delete(all, layoutKey)
	if err == nil && layout == (Record{}) && len(all) > 0 {
		c.log.WarnContext(ctx, "lease: the store has records of workers and none of their layout, which somebody has deleted: it is written again, and must be the layout of all processes",
			"workers", len(all), "layout", signature(c.layout))
	}
	return err
}

// joinLayout compares the layout with the one that the store's workers belong to,
// and writes it where there is none: under two layouts one bound would mean two
// different ticks. It returns the record.
//
// A record that was only read may vanish before the worker's record is written, and
// another layout take its place: a claim reads it again at its end. The random number
// in Bound tells two writes of one layout apart.
func (r records) joinLayout(ctx context.Context, c *config, stored Record) (Record, error) {
	own := Record{Bound: c.random(math.MaxInt64), Owner: signature(c.layout)}
	if stored == (Record{}) {
		if err := r.warnOfMissingLayout(ctx, c); err != nil {
			return Record{}, err
		}
		ok, err := r.swap(ctx, layoutKey, stored, own)
		if ok {
			return own, nil
		}
		var readErr error
		if stored, readErr = r.read(ctx, layoutKey); readErr != nil {
			return Record{}, cmp.Or(err, readErr)
		}
		if stored == (Record{}) {
			return Record{}, fmt.Errorf("lease: writing the layout: %w", cmp.Or(err, errUnwritten))
		}
	}
	if stored.Owner != own.Owner {
		return Record{}, fmt.Errorf("lease: the store's workers belong to the layout %q, this one is %q: use the stored layout, or a new namespace for tables that do not share a key column", stored.Owner, own.Owner)
	}
	return stored, nil
}
