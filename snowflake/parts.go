package snowflake

import (
	"fmt"
	"time"

	"github.com/gormflake/gormflake/types"
)

// Parts is an ID taken apart.
type Parts struct {
	// Time is the start of the tick in which the ID was issued, in UTC.
	Time time.Time

	// Datacenter, Worker and Sequence are zero where the layout has no such
	// field.
	Datacenter, Worker, Sequence int64
}

// Compose returns the ID of the given parts. Time is truncated to its tick. A part
// that the layout cannot hold is an error that names its range.
//
// Compose is for reading and testing: only a [Generator] knows which IDs have not
// been issued yet.
func (l Layout) Compose(p Parts) (types.ID, error) {
	if p.Time.Before(l.Epoch) || !p.Time.Before(l.Expires()) {
		return 0, fmt.Errorf("snowflake: time %v out of range [%v, %v)", p.Time, l.Epoch, l.Expires())
	}
	node, err := l.node(p.Datacenter, p.Worker)
	if err != nil {
		return 0, err
	}
	if err := inRange("sequence", p.Sequence, l.SequenceBits); err != nil {
		return 0, err
	}
	return types.ID(l.tickOf(p.Time)<<l.lowBits() | node<<l.SequenceBits | p.Sequence), nil
}

// Decompose takes an ID apart: Compose(Decompose(id)) is id for every ID of the
// layout. An ID of another layout gives meaningless parts, not an error: the bits
// do not show whose they are.
func (l Layout) Decompose(id types.ID) Parts {
	n := id.Int64()
	return Parts{
		Time:       l.Time(id),
		Datacenter: n >> (l.SequenceBits + l.WorkerBits) & mask(l.DatacenterBits),
		Worker:     n >> l.SequenceBits & mask(l.WorkerBits),
		Sequence:   n & mask(l.SequenceBits),
	}
}

// Time returns the start of the tick in which the ID was issued, in UTC.
func (l Layout) Time(id types.ID) time.Time { return l.timeOf(id.Int64() >> l.lowBits()) }

// Min returns the smallest ID that can have been issued at t or later: an ID
// issued in the tick of t, by any worker, is not below it. Times before the epoch
// give zero, times past the layout's end an ID above all of its IDs, or its last
// one if no ID is larger, as under [TwitterLayout].
//
//	WHERE id BETWEEN layout.Min(from) AND layout.Max(to)
//
// scans by the primary key what a created_at column would need an index for. The
// tick of to is part of that; [Layout.Range] ends before it.
func (l Layout) Min(t time.Time) types.ID {
	tick := max(0, l.tickOf(t))
	if tick < l.endTick() {
		return types.ID(tick << l.lowBits())
	}
	return max(l.lastID(), l.lastID()+1) // the sum overflows to negative where there is nothing above
}

// Max returns the largest ID that can have been issued at t or earlier: the last
// one of the tick of t. Times before the epoch give zero, which is not an ID;
// times past the layout's end give its last ID.
func (l Layout) Max(t time.Time) types.ID {
	next := min(l.tickOf(t)+1, l.endTick())
	return types.ID(max(0, next<<l.lowBits()-1)) // the shift may overflow to the lowest number, before which is the highest
}

// Range returns the range of the IDs issued from the tick of from up to, but
// without, the tick of to. Ranges that follow one another, such as days, neither
// overlap nor leave an ID out:
//
//	first, end := layout.Range(day, day.AddDate(0, 0, 1))
//	db.Where("id >= ? AND id < ?", first, end)
//
// It is [Layout.Min] of both times: under [TwitterLayout] a range to the layout's
// end misses the very last ID. If to is not after from, the range is empty.
func (l Layout) Range(from, to time.Time) (first, end types.ID) { return l.Min(from), l.Min(to) }

// node joins datacenter and worker into the number that distinguishes processes.
func (l Layout) node(datacenter, worker int64) (int64, error) {
	if err := inRange("datacenter", datacenter, l.DatacenterBits); err != nil {
		return 0, err
	}
	if err := inRange("worker", worker, l.WorkerBits); err != nil {
		return 0, err
	}
	return datacenter<<l.WorkerBits | worker, nil
}

func inRange(field string, got int64, bits uint8) error {
	if got < 0 || got > mask(bits) {
		return fmt.Errorf("snowflake: %s %d out of range [0, %d]", field, got, mask(bits))
	}
	return nil
}

func mask(bits uint8) int64 { return 1<<bits - 1 }
