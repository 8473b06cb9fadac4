package snowflake

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A slot is the place of one ID of a worker, tick<<SequenceBits | sequence. It is the ID
// without the bits of the worker. The slot after the last slot of a tick is the first slot
// of the next tick, so that a block of IDs is a range of slots.
type slot = uint64

// sealed is the bit of Generator.state that stops the generator, because its grant was
// revoked or retired, or because the generator has no grant yet. A call takes a slot by a
// compare-and-swap that expects an ID. IDs are below this bit, so each swap fails while sealed
// is set. The other bits keep the last ID, from which the next grant continues.
const sealed uint64 = 1 << 63

// A Grant is a worker for a window of ticks that a [WorkerSource] gives to one
// [Generator]. [NewGrant] creates it. Its methods may be called concurrently.
type Grant struct {
	layout             Layout
	datacenter, worker int64
	firstTick          int64       // first tick of the window
	firstSlot          slot        // first slot of the tick in which the generator began
	fixed              bool        // the worker is fixed, so that the window ends only with the layout
	accepted           atomic.Bool // a generator has accepted the grant, so that no other generator may

	node         uint64 // datacenter and worker, at their place in an ID
	mask         uint64 // the bits of the sequence, so also the highest sequence number
	sequenceBits uint8
	nodeBits     uint8 // bits of the datacenter and the worker

	// mu is held to change the fields below, and to change the generator's fastEnd and seal
	// its state. A source may call Extend or Revoke late, when the generator already has another
	// grant. Under mu, Extend and Revoke check that this grant is not retired, and so never
	// change the state or fastEnd of a generator that has another grant. The fields are atomic
	// because calls that issue IDs load them without the lock.
	mu        sync.Mutex
	limit     atomic.Uint64 // first slot that must not be issued
	generator atomic.Pointer[Generator]
	revoked   atomic.Bool // set by the source
	retired   atomic.Bool // set by the generator, before it seals its state
}

// NewGrant returns a grant of a worker for the ticks that lie wholly in [from, until) and that
// the layout has. A zero until grants all ticks after from, which is right only for a
// worker ID that no other process will ever have. A datacenter or worker that the
// layout cannot hold is an error.
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
		firstTick:    max(1, layout.tickOf(from.Add(layout.Tick-1))), // rounded up; tick 0 could give ID 0
		fixed:        until.IsZero(),
		node:         uint64(node) << layout.SequenceBits,
		mask:         uint64(mask(layout.SequenceBits)),
		sequenceBits: layout.SequenceBits,
		nodeBits:     layout.DatacenterBits + layout.WorkerBits,
	}
	if g.fixed {
		until = layout.Expires()
	}
	g.limit.Store(g.limitAt(until))
	return g, nil
}

// Datacenter returns the datacenter that the worker belongs to.
func (g *Grant) Datacenter() int64 { return g.datacenter }

// Worker returns the worker ID within its datacenter.
func (g *Grant) Worker() int64 { return g.worker }

// Until returns the end of the granted window. No ID is issued in a tick at or after it.
// A revoked grant has an empty window, which ends where it started.
func (g *Grant) Until() time.Time {
	return g.layout.timeOf(int64(g.limit.Load() >> g.sequenceBits))
}

// Extend moves the end of the window to until. It never shortens the window. A source
// must call it only after its store has acknowledged the new end. It does nothing on a
// revoked grant.
func (g *Grant) Extend(until time.Time) {
	to := g.limitAt(until)
	g.mu.Lock()
	defer g.mu.Unlock()
	if to <= g.limit.Load() || g.revoked.Load() {
		return
	}
	g.limit.Store(to)
	if generator := g.activeGenerator(); generator != nil {
		generator.fastEnd.Store(min(to>>g.sequenceBits, generator.warnAt)) // for next, which does not load the limit
	}
}

// activeGenerator returns the generator that issues under the grant. It returns nil
// before the generator has begun and after the grant was retired. The caller holds mu.
func (g *Grant) activeGenerator() *Generator {
	if g.retired.Load() {
		return nil
	}
	return g.generator.Load()
}

// Revoke ends the grant at once and for good. A source calls it when it has learned
// that another process may hold the worker. No call of [Generator.Next],
// [Generator.TryNext] or [Generator.Fill] that begins after Revoke has returned returns
// an ID of the grant.
//
// A call in progress that has waited checks the grant again before it returns an ID or
// writes a block. If the grant has been revoked the call starts over, and its slots are
// lost. Before each block, and so after its last wait, Fill checks every grant whose
// IDs are in dst, and starts over with all of dst if one of them has been revoked. Only
// a call that is past its last check, and does not have to wait any more, still returns
// IDs of the grant.
//
// Next and Fill then ask the source for another grant, and fail if they do not get one;
// see [WorkerSource]. TryNext returns [ErrFenced] until one of them has asked. Last
// still returns the last tick in use, which may have been reserved and never issued. A
// second Revoke does nothing.
func (g *Grant) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	// Each of the three changes stops calls of another kind. After revoked is set, Fill and a
	// waiting call, which check it, start over. After the limit is lowered, a call that begins
	// in nextSlow finds no slot, and asks the source. After the state is sealed, a call that has
	// loaded the state before cannot commit. revoked is set first, because a call that finds no
	// slot returns fencedError, whose text depends on revoked.
	g.revoked.Store(true)
	g.limit.Store(slot(g.firstTick) << g.sequenceBits) // an empty window
	if generator := g.activeGenerator(); generator != nil {
		generator.state.Or(sealed)
	}
}

// Now returns the wall clock of the generator that holds the grant, without a monotonic
// reading. This is the clock given by [WithClock], or the machine's. The error wraps
// [ErrClockJumped] while that clock is further ahead than [WithMaxJump] allows and is
// not believed yet.
//
// Now compares the clocks as [Generator.Next] does. A source that calls Now from time to
// time lets an idle generator believe a jump. Under [WithLogicalTime], where the
// generator does not follow the clock, the source believes a jump in the same way.
// Before a generator holds the grant, Now returns [time.Now] and no error. After the
// grant was revoked or retired, Now continues to use the generator's clock.
func (g *Grant) Now() (time.Time, error) {
	generator := g.generator.Load()
	if generator == nil {
		return time.Now().Round(0), nil
	}
	return generator.believedWall()
}

// Last returns the start of the last tick in which an ID was issued or reserved. It
// returns the zero time before the grant is in use and after it was retired.
func (g *Grant) Last() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if generator := g.activeGenerator(); generator != nil {
		return g.timeOf(generator.last())
	}
	return time.Time{}
}

// String returns the name of the worker for logs and errors.
func (g *Grant) String() string {
	return fmt.Sprintf("datacenter %d worker %d", g.datacenter, g.worker)
}

// limitAt returns the first slot that must not be issued if the window ends at until. This is the
// first slot of the tick of until, and is never beyond the layout's end.
func (g *Grant) limitAt(until time.Time) slot {
	tick := min(max(0, g.layout.tickOf(until)), g.layout.endTick())
	return slot(tick) << g.sequenceBits
}

// fencedError returns the error of a call for which the grant has no slot, because the source has
// revoked the grant or because its window has ended.
func (g *Grant) fencedError() error {
	if g.revoked.Load() {
		return fmt.Errorf("%w: %v was revoked, as another process may hold it: Next and Fill ask for another worker", ErrFenced, g)
	}
	return fmt.Errorf("%w: %v was granted until %v", ErrFenced, g, g.Until())
}

// endsWithLayout reports whether the window ends where the layout ends, so that the source cannot
// extend it.
func (g *Grant) endsWithLayout() bool {
	return g.limit.Load() == slot(g.layout.endTick())<<g.sequenceBits
}

// tickBefore returns the start of the tick before the window. The generator passes it to the
// source's Retire as the last tick in use if the generator has issued no ID under the grant.
func (g *Grant) tickBefore() time.Time { return g.layout.timeOf(g.firstTick - 1) }

// begin lets the generator issue under the grant, from tick on. If the source has already
// revoked the grant, its window is empty and the first call asks the source for another.
//
// The generator's state is sealed until begin stores the new state, as its last step. A call
// loads first the state and then the grant. If it has loaded the new state, it therefore gets
// this grant. If it has loaded an earlier state, it cannot commit, because the generator never
// has that state again. Under the same worker the state only rises. Under another worker the
// state contains the number of the other worker.
func (g *Grant) begin(generator *Generator, tick uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.firstSlot = tick << g.sequenceBits
	g.generator.Store(generator)
	generator.fastEnd.Store(min(g.limit.Load()>>g.sequenceBits, generator.warnAt))
	generator.grant.Store(g)
	generator.state.Store(uint64(g.id(g.firstSlot - 1))) // so that a call takes firstSlot next
}

// retire ends the grant for good, because the generator closes or gets another grant. It returns
// the last slot issued or reserved. A call that still uses the grant cannot commit, because the
// state is sealed. retire sets retired before it seals the state, because a call that finds a
// sealed state checks retired. If retired is set, the call waits for the next grant, and
// otherwise, as after Revoke, it asks the source.
func (g *Grant) retire() slot {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired.Store(true)
	return g.slotOf(g.generator.Load().state.Or(sealed))
}

// tickOf returns the tick of a slot.
func (g *Grant) tickOf(s slot) int64 { return int64(s >> g.sequenceBits) }

// timeOf returns the start of the tick of a slot.
func (g *Grant) timeOf(s slot) time.Time { return g.layout.timeOf(g.tickOf(s)) }

// id returns the slot's ID. A slot is tick and sequence, and the ID has the datacenter and the
// worker between them.
func (g *Grant) id(s slot) types.ID {
	sequence := s & g.mask
	tick := s ^ sequence // still shifted by the bits of the sequence
	return types.ID(tick<<g.nodeBits | g.node | sequence)
}

// slotOf returns the slot of a generator's state, which is an ID and perhaps the bit sealed. It
// removes that bit, the datacenter and the worker.
func (g *Grant) slotOf(state uint64) slot {
	state &^= sealed
	return state>>(g.nodeBits+g.sequenceBits)<<g.sequenceBits | state&g.mask
}
