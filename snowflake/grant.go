package snowflake

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A slot is a place in one worker's sequence of IDs: tick<<SequenceBits |
// sequence. Slots are contiguous across ticks, so one word counts them all.
type slot = uint64

// sealed is a state that no slot can follow: the slot after it is at or above
// every limit.
const sealed slot = 1 << 63

// A Grant is one worker for a span of ticks, given by a [WorkerSource] to one
// [Generator]. [NewGrant] makes it. Its methods may be called concurrently.
type Grant struct {
	layout             Layout
	datacenter, worker int64
	from               int64 // first tick
	first              slot  // of the tick in which the generator began
	fixed              bool  // nobody but the layout ends it
	node               uint64
	mask               uint64 // of the sequence
	sequenceBits       uint8
	nodeBits           uint8
	limit              atomic.Uint64 // first slot that must not be issued
	used               atomic.Bool   // given to a generator

	// The tick that is open to Generator.Next; take opens it.
	open   atomic.Uint64 // above its last ID; that is below the limit
	closes atomic.Int64  // when the clocks are to be compared again, in elapsed time
	trust  atomic.Uint64 // below this count of the processor it is not yet time for that; zero: look at the clock

	// The state has its cache line to itself: every call writes it, and the
	// fields above are read by all.
	_     [64]byte
	state atomic.Uint64 // the ID of the last slot issued or reserved, or sealed
	_     [56]byte
}

// NewGrant grants a worker for the ticks that lie wholly in [from, until), as far
// as the layout has them. The zero until grants all from there on: right only for a
// worker number that nobody else will ever be given. A datacenter or worker that
// the layout cannot hold is an error.
func NewGrant(layout Layout, datacenter, worker int64, from, until time.Time) (*Grant, error) {
	if err := layout.Validate(); err != nil {
		return nil, err
	}
	node, err := layout.node(datacenter, worker)
	if err != nil {
		return nil, err
	}
	g := &Grant{
		layout:       layout,
		datacenter:   datacenter,
		worker:       worker,
		from:         max(1, layout.tickOf(from.Add(layout.Tick-1))), // zero is no ID
		fixed:        until.IsZero(),
		node:         uint64(node) << layout.SequenceBits,
		mask:         uint64(mask(layout.SequenceBits)),
		sequenceBits: layout.SequenceBits,
		nodeBits:     layout.DatacenterBits + layout.WorkerBits,
	}
	if g.fixed {
		until = layout.Expires()
	}
	g.state.Store(sealed)
	g.limit.Store(g.limitAt(until))
	return g, nil
}

// Datacenter is the datacenter that the worker belongs to.
func (g *Grant) Datacenter() int64 { return g.datacenter }

// Worker is the worker's number within its datacenter.
func (g *Grant) Worker() int64 { return g.worker }

// Until is the end of the granted window: no tick at or after it is issued.
func (g *Grant) Until() time.Time {
	return g.layout.timeOf(int64(g.limit.Load() >> g.sequenceBits))
}

// Extend moves the end of the window to until; a window is never shortened.
// A source calls it only after whoever coordinates the workers has
// acknowledged the new end.
func (g *Grant) Extend(until time.Time) {
	to := g.limitAt(until)
	for {
		old := g.limit.Load()
		if to <= old || g.limit.CompareAndSwap(old, to) {
			return
		}
	}
}

// Revoke ends the window now, where the source has learnt that it is no longer
// its own. Calls that are under way may still issue: within the current tick, or
// what they have reserved already, which for [Generator.Fill] can be many ticks.
func (g *Grant) Revoke() {
	g.limit.Store(slot(g.from) << g.sequenceBits)
	g.open.Store(0)
}

// Last is the start of the last tick in which an ID was issued or reserved. It
// is the zero time while the grant is not in use: before, and after it was
// retired.
func (g *Grant) Last() time.Time {
	last := g.last()
	if last == sealed {
		return time.Time{}
	}
	return g.timeOf(last)
}

// String names the worker, for logs and errors.
func (g *Grant) String() string {
	return fmt.Sprintf("datacenter %d worker %d", g.datacenter, g.worker)
}

func (g *Grant) limitAt(until time.Time) slot {
	tick := min(max(0, g.layout.tickOf(until)), g.layout.endTick())
	return slot(tick) << g.sequenceBits
}

// expires reports whether the layout, not the source, sets the limit.
func (g *Grant) expires() bool {
	return g.limit.Load() == slot(g.layout.endTick())<<g.sequenceBits
}

// unused is the tick before the window: the last one, as far as the source is
// concerned, where nothing was issued.
func (g *Grant) unused() time.Time { return g.layout.timeOf(g.from - 1) }

// begin opens a grant that is not issuing yet, at the start of a tick.
func (g *Grant) begin(tick uint64) (state slot) {
	g.first = tick << g.sequenceBits
	g.state.Store(uint64(g.id(g.first - 1)))
	return g.first - 1
}

// openTick lets the short path issue the rest of a tick that has come.
func (g *Grant) openTick(tick uint64, closes time.Duration) {
	last := min((tick+1)<<g.sequenceBits, g.limit.Load()) - 1
	g.open.Store(uint64(g.id(last)) + 1)
	if g.limit.Load() <= last {
		g.open.Store(0) // revoked meanwhile
	}
	g.closes.Store(int64(closes))
	g.trust.Store(0) // it was earned with the old closes
}

// seal ends the grant for good, and returns the last slot issued or reserved:
// whoever still holds the grant finds its state changed and cannot advance it.
func (g *Grant) seal() slot { return g.slotOf(g.state.Swap(sealed)) }

// last is the last slot issued or reserved, or sealed.
func (g *Grant) last() slot { return g.slotOf(g.state.Load()) }

// advance moves the state from one slot to a later one, unless it has moved.
func (g *Grant) advance(from, to slot) bool {
	return g.state.CompareAndSwap(uint64(g.id(from)), uint64(g.id(to)))
}

func (g *Grant) tickOf(s slot) int64 { return int64(s >> g.sequenceBits) }

func (g *Grant) timeOf(s slot) time.Time { return g.layout.timeOf(g.tickOf(s)) }

// id puts the worker between the slot's tick and sequence.
func (g *Grant) id(s slot) types.ID {
	sequence := s & g.mask
	return types.ID((s^sequence)<<g.nodeBits | g.node | sequence)
}

// slotOf undoes id.
func (g *Grant) slotOf(state uint64) slot {
	if state == sealed {
		return sealed
	}
	return state>>(g.nodeBits+g.sequenceBits)<<g.sequenceBits | state&g.mask
}
