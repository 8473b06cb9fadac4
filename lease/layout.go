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

// signature returns the text by which the store remembers a layout, for example
//
//	epoch=2010-11-04T01:42:54.657Z tick=1ms datacenter=5 worker=5 sequence=12 total=63
//
// Its form must never change, because it is compared with the text that earlier versions
// have written.
func signature(l snowflake.Layout) string {
	total := l.TotalBits
	if total == 0 {
		total = 63 // the meaning of zero in a Layout
	}
	return fmt.Sprintf("epoch=%s tick=%v datacenter=%d worker=%d sequence=%d total=%d",
		l.Epoch.UTC().Format(time.RFC3339Nano), l.Tick, l.DatacenterBits, l.WorkerBits, l.SequenceBits, total)
}

// parseSignature returns the layout of a text that signature has returned. Any other text is
// an error. Sscanf also reads texts that signature would write in another way, such as
// "tick=1000us", so parseSignature compares the text with the signature of the result.
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

// warnOfMissingLayout logs a warning if the store has records of workers but no record of the
// layout. Somebody has then deleted the layout's record, so the caller cannot compare its
// layout before it writes a new record.
func (r records) warnOfMissingLayout(ctx context.Context, c *config) error {
	all, _, err := r.load(ctx) // without keys, which reads all records
	layout := all[layoutKey]
	delete(all, layoutKey) // leaves the records of the workers
	if err == nil && layout == (Record{}) && len(all) > 0 {
		c.log.WarnContext(ctx, "lease: the store has records of workers and none of their layout, which somebody has deleted: it is written again, and must be the layout of all processes",
			"workers", len(all), "layout", signature(c.layout))
	}
	return err
}

// joinLayout returns the record of the layout in the store, or an error if the store has
// another layout than the config. All processes must share a layout, because the same bound
// would mean different ticks under two layouts. The argument stored is the layout's record as
// the caller has read it. If the store has no such record, joinLayout writes it.
//
// A record that was only read may vanish in a crash of the store before the worker's record is
// written, and another process may then write another layout. Therefore a claim reads the
// layout's record again after it has written the worker's, and expects the record that
// joinLayout has returned. The random number in Bound makes two writes of one layout differ,
// so that the claim notices a record that was lost and written again.
func (r records) joinLayout(ctx context.Context, c *config, stored Record) (Record, error) {
	configured := Record{Bound: c.random(math.MaxInt64), Owner: signature(c.layout)}
	if stored == (Record{}) {
		if err := r.warnOfMissingLayout(ctx, c); err != nil {
			return Record{}, err
		}
		ok, err := r.swap(ctx, layoutKey, stored, configured)
		if ok {
			return configured, nil
		}
		// Another process has written its layout first, or the answer was lost.
		var readErr error
		if stored, readErr = r.read(ctx, layoutKey); readErr != nil {
			return Record{}, cmp.Or(err, readErr)
		}
		if stored == (Record{}) {
			return Record{}, fmt.Errorf("lease: writing the layout: %w", cmp.Or(err, errUnwritten))
		}
	}
	if stored.Owner != configured.Owner {
		return Record{}, fmt.Errorf("lease: the store's workers belong to the layout %q, this one is %q: use the stored layout, or a new namespace for tables that do not share a key column", stored.Owner, configured.Owner)
	}
	return stored, nil
}
