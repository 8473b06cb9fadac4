package snowflake

import "time"

// A ClockPolicy is what a generator does while the wall clock is behind its last
// ID after a step back: continue, wait or fail. None of them issues an ID twice
// or out of order. [Fail], [Wait] and [Tolerate] make one, for [OnClockBackwards].
// The zero value is Fail().
//
// A step back is over once the wall clock has overtaken the last ID, which for
// an idle generator is at once. One of less than a tick needs no policy: IDs may
// be ahead of the clock by that much.
type ClockPolicy struct {
	max  time.Duration
	wait bool
}

// Fail makes calls fail with [ErrClockBackwards] until the step back is over.
func Fail() ClockPolicy { return ClockPolicy{} }

// Wait makes calls wait until a step back of up to limit is over, and fail after a
// larger one. [Generator.TryNext] fails instead of waiting.
func Wait(limit time.Duration) ClockPolicy { return ClockPolicy{max: limit, wait: true} }

// Tolerate continues in logical time, ahead of the wall clock by the size of the
// step back, up to limit, and fails after a larger one. Under a fixed worker keep
// the limit small: after a restart the next process cannot know how far ahead
// this one was.
func Tolerate(limit time.Duration) ClockPolicy { return ClockPolicy{max: limit} }

// A SequenceStart is the sequence number at which a tick starts, for
// [WithSequenceStart].
type SequenceStart int

const (
	// StartRandom starts each tick at a random point of the lower half, and at
	// 0 when the tick before was used up. The low bits of the keys are then
	// evenly spread at any rate, so that sharding by key works; a first tick
	// still holds at least half of its sequence, and all of a saturated one
	// is usable. The points follow from a number that each grant draws, by a
	// hash that is not a cipher: they make IDs hard to guess, not secret. This
	// is the default.
	StartRandom SequenceStart = iota

	// StartZero starts each tick at 0, as the classic generators do: at low
	// rates all keys end in zero bits and fall into one shard.
	StartZero
)

// mask is the mask of the sequence numbers at which a tick may start.
func (s SequenceStart) mask(sequenceBits uint8) uint64 {
	if s == StartZero {
		return 0
	}
	return uint64(mask(sequenceBits)) >> 1
}

// mix is the finaliser of MurmurHash3. Of a tick's first ID, and so of the tick
// and the worker, and of the grant's secret it makes the sequence number at which
// the tick starts: as even as chance, and nothing that a call has to fetch or to
// change. A multiplication alone leaves patterns where ticks come at even distances.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
