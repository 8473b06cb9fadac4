package snowflake

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A Layout is the division of an ID into bit fields. From the top these are the ticks
// since the epoch, the datacenter, the worker, and the sequence number within the tick.
// A Layout is a plain value. Compare it with [Layout.Equal]. All its methods may be
// called concurrently.
//
// IDs of one layout sort by time. IDs of two layouts must never be in one column. The
// results of the methods of an invalid layout are meaningless; see [Layout.Validate].
type Layout struct {
	// Epoch is the time of tick zero. It must be a whole number of ticks since the Unix
	// epoch, not before the Unix epoch, and not after the year 2262.
	Epoch time.Time

	// Tick is the length of a tick. It must be whole milliseconds, at least one and at
	// most 146 years.
	Tick time.Duration

	// DatacenterBits, WorkerBits and SequenceBits are the widths of the low fields.
	// Zero means that there is no such field. The remaining bits of TotalBits are the
	// time.
	DatacenterBits, WorkerBits, SequenceBits uint8

	// TotalBits is the width of an ID. It is at most 63, so that an ID is never
	// negative. With 53 bits, IDs are exact in a JavaScript number. Zero means 63.
	TotalBits uint8
}

// TwitterLayout returns the default layout: 41 bits of milliseconds since
// 2010-11-04T01:42:54.657Z, 5 of datacenter, 5 of worker and 12 of sequence. It yields
// 4,096,000 IDs per second and worker, and expires in July 2080. It has the epoch and
// the widths of Twitter's snowflake of 2010.
func TwitterLayout() Layout {
	return Layout{
		Epoch:          time.UnixMilli(1288834974657).UTC(),
		Tick:           time.Millisecond,
		DatacenterBits: 5,
		WorkerBits:     5,
		SequenceBits:   12,
		TotalBits:      63,
	}
}

// JSSafeLayout returns a layout that keeps IDs below 2^53, where a JavaScript number is
// exact: 39 bits of 10 ms ticks since 2020, 6 of worker and 8 of sequence. It yields
// 25,600 IDs per second and worker, has 64 workers, and expires in 2194.
func JSSafeLayout() Layout {
	return Layout{
		Epoch:        time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC),
		Tick:         10 * time.Millisecond,
		WorkerBits:   6,
		SequenceBits: 8,
		TotalBits:    53,
	}
}

// DiscordLayout returns the layout of Discord's IDs, to read them: milliseconds since
// 2015, 5 bits of worker (here the datacenter), 5 of process (here the worker) and 12
// of sequence. Discord's IDs are 64 bits wide. This layout lacks one of their bits of
// time, which they will need from 2084 on.
func DiscordLayout() Layout {
	l := TwitterLayout()
	l.Epoch = time.UnixMilli(1420070400000).UTC()
	return l
}

// longestDuration is the longest time.Duration, 292 years. A generator counts the time
// since the epoch in nanoseconds, so that it cannot count further.
const longestDuration = time.Duration(math.MaxInt64)

// Validate returns all errors of the layout, joined. [New] calls it.
func (l Layout) Validate() error {
	return errors.Join(l.validateTick(), l.validateBits())
}

// validateTick returns an error if the tick or the epoch breaks a rule of its field in Layout.
func (l Layout) validateTick() error {
	if l.Tick < time.Millisecond || l.Tick%time.Millisecond != 0 {
		return fmt.Errorf("snowflake: layout's tick %v: want whole milliseconds, at least 1ms", l.Tick)
	}
	if l.Tick > longestDuration/2 { // a generator needs two ticks, because it issues no ID in tick zero
		return fmt.Errorf("snowflake: layout's tick %v: want at most half of %v, the longest time that a generator counts", l.Tick, longestDuration)
	}
	if l.Epoch.Before(time.UnixMilli(0)) {
		return fmt.Errorf("snowflake: layout's epoch %v is before 1970-01-01T00:00:00Z", l.Epoch)
	}
	// A clock holds the epoch in nanoseconds of Unix time, which end in the year 2262.
	if latest := time.UnixMilli(longestDuration.Milliseconds()).UTC(); l.Epoch.After(latest) {
		return fmt.Errorf("snowflake: layout's epoch %v is after %s", l.Epoch, latest.Format(time.RFC3339Nano))
	}
	// The first condition finds a part of a millisecond, which epochMillis cuts off.
	if l.Epoch.Nanosecond()%int(time.Millisecond) != 0 || l.epochMillis()%l.tickMillis() != 0 {
		return fmt.Errorf("snowflake: layout's epoch %v is not a whole number of ticks of %v since 1970-01-01T00:00:00Z", l.Epoch, l.Tick)
	}
	return nil
}

// validateBits checks that the fields leave at least one bit for the time.
func (l Layout) validateBits() error {
	if l.TotalBits > 63 {
		return fmt.Errorf("snowflake: layout has %d bits in total: want at most 63", l.TotalBits)
	}
	if low := l.lowBits(); low >= int(l.totalBits()) {
		return fmt.Errorf("snowflake: layout's datacenter, worker and sequence take %d+%d+%d of %d bits and leave none for time", l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.totalBits())
	}
	return nil
}

// Expires returns the first instant that the layout cannot express. The lifetime of a
// layout is Expires minus Epoch. It is at most 292 years, the longest [time.Duration],
// even if there are more bits for the time.
func (l Layout) Expires() time.Time { return l.timeOf(l.endTick()) }

// Equal reports whether both layouts have the same fields and start at the same
// instant, so that their IDs can be mixed.
func (l Layout) Equal(other Layout) bool { return l.comparable() == other.comparable() }

// String describes the layout in one line, for logs and errors.
func (l Layout) String() string {
	return fmt.Sprintf("%d bits of %v since %s, %d datacenter, %d worker, %d sequence",
		l.timeBits(), l.Tick, l.Epoch.UTC().Format(time.RFC3339Nano), l.DatacenterBits, l.WorkerBits, l.SequenceBits)
}

// comparable returns an equal layout that can be compared with ==. It converts the epoch to
// UTC, because values of time.Time that are the same instant can differ, for example in the
// time zone. It replaces a TotalBits of zero by 63, because both mean the same.
func (l Layout) comparable() Layout {
	l.Epoch, l.TotalBits = time.UnixMilli(l.epochMillis()).UTC(), l.totalBits()
	return l
}

// totalBits returns TotalBits, or its default of 63 if TotalBits is zero.
func (l Layout) totalBits() uint8 {
	if l.TotalBits == 0 {
		return 63
	}
	return l.TotalBits
}

// lowBits returns the number of bits below the time, which are datacenter, worker and
// sequence. It is an int because the sum of three uint8 can overflow a uint8.
func (l Layout) lowBits() int {
	return int(l.DatacenterBits) + int(l.WorkerBits) + int(l.SequenceBits)
}

// timeBits returns the number of bits of the time. It is negative if the layout is invalid,
// because the other fields need more bits than there are.
func (l Layout) timeBits() int { return int(l.totalBits()) - l.lowBits() }

// epochMillis returns the epoch in milliseconds of Unix time.
func (l Layout) epochMillis() int64 { return l.Epoch.UnixMilli() }

// tickMillis returns the length of a tick in milliseconds. It is at least 1 even if the layout
// is invalid, because callers divide by it.
func (l Layout) tickMillis() int64 { return max(1, l.Tick.Milliseconds()) }

// endTick returns the number of ticks of the layout, which is the first tick after its end. It
// is 1<<timeBits, or less if a generator cannot count so many ticks in longestDuration. It
// shifts by at most 62, because 1<<63 overflows an int64, and a generator cannot count so many
// ticks anyway. It shifts by at least 0, because timeBits is negative in an invalid layout.
func (l Layout) endTick() int64 {
	return min(1<<min(62, max(0, l.timeBits())), longestDuration.Milliseconds()/l.tickMillis())
}

// lastID returns the last ID of the last tick, with the highest numbers in all fields. It
// subtracts 1 from the start of the tick after the layout's end. It computes this start as a
// uint64, because the start can be 1<<63.
func (l Layout) lastID() types.ID { return types.ID(uint64(l.endTick())<<l.lowBits() - 1) }

// tickOf returns the tick that contains t. It returns -1 if t is before the epoch, and endTick
// if t is at or after the layout's end. It compares times before it subtracts milliseconds,
// because the milliseconds of a time in the far past or future overflow an int64.
func (l Layout) tickOf(t time.Time) int64 {
	switch {
	case t.Before(l.Epoch):
		return -1
	case t.Before(l.Expires()):
		return (t.UnixMilli() - l.epochMillis()) / l.tickMillis()
	}
	return l.endTick()
}

// timeOf returns the time at which the tick starts, in UTC.
func (l Layout) timeOf(tick int64) time.Time {
	return time.UnixMilli(l.epochMillis() + tick*l.tickMillis()).UTC()
}

// Parts are the fields of an ID.
type Parts struct {
	// Time is the start of the tick in which the ID was issued, in UTC.
	Time time.Time

	// Datacenter, Worker and Sequence are zero if the layout has no such field.
	Datacenter, Worker, Sequence int64
}

// Compose returns the ID of the given parts. It truncates Time to its tick. A part that
// the layout cannot hold is an error that names its range.
//
// Use Compose for reading and testing. Only a [Generator] knows which IDs have not been
// issued yet.
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

// Decompose returns the parts of an ID. Compose(Decompose(id)) is id for every ID of
// the layout. The parts of an ID of another layout are meaningless. Decompose returns no
// error for such an ID, because the bits do not show to which layout an ID belongs.
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

// Min returns the smallest ID that can have been issued at t or later. No ID that any
// worker issued in the tick of t is below it. For times before the epoch it returns
// zero. For times past the layout's end it returns a number above all IDs of the layout,
// or the last ID if no int64 is larger, as under [TwitterLayout].
//
//	WHERE id BETWEEN layout.Min(from) AND layout.Max(to)
//
// scans a range of the primary key, for which a created_at column would need an index.
// The range includes the tick of to. The range of [Layout.Range] ends before that tick.
func (l Layout) Min(t time.Time) types.ID {
	tick := max(0, l.tickOf(t))
	if tick < l.endTick() {
		return types.ID(tick << l.lowBits())
	}
	return max(l.lastID(), l.lastID()+1) // lastID itself if the sum overflows to a negative number
}

// Max returns the largest ID that can have been issued at t or earlier, the last ID of
// the tick of t. Times before the epoch return zero, which is not an ID. Times past the
// layout's end return its last ID.
func (l Layout) Max(t time.Time) types.ID {
	next := min(l.tickOf(t)+1, l.endTick())
	// At the end of a layout of 63 bits, the shift overflows to the lowest int64. Subtracting 1
	// then overflows to the highest int64, which is the last ID. Before the epoch, next is 0, the
	// difference is -1, and max returns zero.
	return types.ID(max(0, next<<l.lowBits()-1))
}

// Range returns the range of the IDs issued from the tick of from up to, but not in,
// the tick of to. Consecutive ranges, such as days, neither overlap nor leave an ID
// out:
//
//	first, end := layout.Range(day, day.AddDate(0, 0, 1))
//	db.Where("id >= ? AND id < ?", first, end)
//
// Range returns the results of [Layout.Min] for both times. Therefore, under
// [TwitterLayout], a range up to the layout's end lacks the very last ID. If to is not
// after from, the range is empty.
func (l Layout) Range(from, to time.Time) (first, end types.ID) { return l.Min(from), l.Min(to) }

// node returns the number that datacenter and worker form in an ID, datacenter<<WorkerBits |
// worker. It returns an error if one of them is out of range.
func (l Layout) node(datacenter, worker int64) (int64, error) {
	if err := inRange("datacenter", datacenter, l.DatacenterBits); err != nil {
		return 0, err
	}
	if err := inRange("worker", worker, l.WorkerBits); err != nil {
		return 0, err
	}
	return datacenter<<l.WorkerBits | worker, nil
}

// inRange returns an error if the number does not fit into the bits of its field.
func inRange(field string, got int64, bits uint8) error {
	if got < 0 || got > mask(bits) {
		return fmt.Errorf("snowflake: %s %d out of range [0, %d]", field, got, mask(bits))
	}
	return nil
}

// mask returns the largest number of so many bits, for example 31 for 5 bits.
func mask(bits uint8) int64 { return 1<<bits - 1 }
