package snowflake

import (
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
	"github.com/gormflake/gormflake/types"
)

// A slot is a place in one worker's sequence of IDs: tick<<SequenceBits |
// sequence. Slots are contiguous across ticks, so one word counts them all.
type slot = uint64

// sealed is the bit of a state that no slot can follow: no compare-and-swap
// expects it, and every open tick lies below it. The other bits keep the last ID.
const sealed uint64 = 1 << 63

// A Grant is one worker for a window of ticks, given by a [WorkerSource] to one
// [Generator]. [NewGrant] creates it. Its methods may be called concurrently.
type Grant struct {
	// What each ID needs comes first, to be on few cache lines.
	openLimit    atomic.Uint64 // last ID of the tick that is open; zero: none
	tickEnd      clock.TickEnd // of that tick
	limit        atomic.Uint64 // first slot that must not be issued
	node         uint64
	mask         uint64 // of the sequence
	sequenceBits uint8
	nodeBits     uint8
	lowBits      uint8  // both
	secret       uint64 // in the sequence numbers at which ticks start; see mix

	// Every call writes the state: it is kept apart from what all only read.
	state atomic.Uint64 // the ID of the last slot issued or reserved; see sealed
	_     [56]byte

	layout             Layout
	datacenter, worker int64
	from               int64       // first tick
	first              slot        // of the tick in which the generator began
	fixed              bool        // only the layout ends it
	used               atomic.Bool // given to a generator
	generator          atomic.Pointer[Generator]

	moving  sync.Mutex  // held to move the limit
	revoked atomic.Bool // by the source
	retired atomic.Bool // by the generator: set before the state is sealed
}

// NewGrant grants a worker for the ticks that lie wholly in [from, until), as far
// as the layout has them. The zero until grants all ticks after from: right only
// for a worker ID that no other process will ever have. A datacenter or worker
// that the layout cannot hold is an error.
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
		from:         max(1, layout.tickOf(from.Add(layout.Tick-1))), // zero is not an ID
		fixed:        until.IsZero(),
		node:         uint64(node) << layout.SequenceBits,
		mask:         uint64(mask(layout.SequenceBits)),
		sequenceBits: layout.SequenceBits,
		nodeBits:     layout.DatacenterBits + layout.WorkerBits,
		lowBits:      uint8(layout.lowBits()),
		secret:       new(maphash.Hash).Sum64(), // 64 random bits
	}
	if g.fixed {
		until = layout.Expires()
	}
	g.state.Store(sealed)
	g.limit.Store(g.limitAt(until))
	return g, nil
}

// Datacenter returns the datacenter that the worker belongs to.
func (g *Grant) Datacenter() int64 { return g.datacenter }

// Worker returns the worker ID within its datacenter.
func (g *Grant) Worker() int64 { return g.worker }

// Until returns the end of the granted window: no tick at or after it is issued.
// A revoked grant has an empty window, which ends where it started.
func (g *Grant) Until() time.Time {
	return g.layout.timeOf(int64(g.limit.Load() >> g.sequenceBits))
}

// Extend moves the end of the window to until; a window is never shortened. A
// source calls it only after the new end has been acknowledged. It does nothing
// on a revoked grant.
func (g *Grant) Extend(until time.Time) {
	to := g.limitAt(until)
	g.moving.Lock()
	defer g.moving.Unlock()
	if to > g.limit.Load() && !g.revoked.Load() {
		g.limit.Store(to)
	}
}

// Revoke ends the grant at once and for good: a source calls it when it has
// learned that another process may hold the worker. No call of [Generator.Next],
// [Generator.TryNext] or [Generator.Fill] that begins after Revoke has returned
// returns an ID of the grant.
//
// A call in progress that has waited checks the grant again before it returns an
// ID or writes a block. If the grant has been revoked the call starts over, and
// its slots are lost. Before each block, and so after its last wait, Fill checks
// every grant that dst has IDs of, and starts over with all of dst if one has been
// revoked. Only a call that is past its last check, with nothing left to wait for,
// still returns IDs of the grant.
//
// Next and Fill then ask the source for another grant, and fail if they get
// none; see [WorkerSource]. TryNext returns [ErrFenced] until one of them has
// asked. Last still returns the last tick in use, which may have been reserved
// and never issued. A second Revoke does nothing.
func (g *Grant) Revoke() {
	g.moving.Lock()
	g.revoked.Store(true)
	g.limit.Store(slot(g.from) << g.sequenceBits)
	g.moving.Unlock()
	g.state.Or(sealed)
}

// Now returns the time of the wall clock of the generator that holds the grant,
// without a monotonic reading: of the clock given by [WithClock], or the
// machine's. The error wraps [ErrClockJumped] while that clock is further ahead
// than [WithMaxJump] allows and is not believed yet.
//
// Now compares the clocks as [Generator.Next] does, so calling it from time to
// time lets a jump be believed while the generator is idle. It does so in
// logical time too, in which the generator itself does not follow the clock.
// Before a generator holds the grant, Now returns [time.Now] and no error. After
// the grant was revoked or retired it continues to use the generator's clock.
func (g *Grant) Now() (time.Time, error) {
	generator := g.generator.Load()
	if generator == nil {
		return time.Now().Round(0), nil
	}
	return generator.wall(g)
}

// Last returns the start of the last tick in which an ID was issued or reserved.
// It is the zero time while the grant is not in use: before, and after it was
// retired.
func (g *Grant) Last() time.Time {
	state := g.state.Load()
	if state == sealed || g.retired.Load() {
		return time.Time{}
	}
	return g.timeOf(g.slotOf(state))
}

// String returns the worker's name for logs and errors.
func (g *Grant) String() string {
	return fmt.Sprintf("datacenter %d worker %d", g.datacenter, g.worker)
}

func (g *Grant) limitAt(until time.Time) slot {
	tick := min(max(0, g.layout.tickOf(until)), g.layout.endTick())
	return slot(tick) << g.sequenceBits
}

// fenced is the error of a call that the grant has no slot for.
func (g *Grant) fenced() error {
	if g.revoked.Load() {
		return fmt.Errorf("%w: %v was revoked, as another process may hold it: Next and Fill ask for another worker", ErrFenced, g)
	}
	return fmt.Errorf("%w: %v was granted until %v", ErrFenced, g, g.Until())
}

// expires reports whether the layout, not the source, sets the limit.
func (g *Grant) expires() bool {
	return g.limit.Load() == slot(g.layout.endTick())<<g.sequenceBits
}

// unused is the tick before the window: the last one that the source is told of
// where nothing was issued.
func (g *Grant) unused() time.Time { return g.layout.timeOf(g.from - 1) }

// begin starts a grant that no call has seen yet, at the start of a tick. If the
// source has revoked it, its window is empty.
func (g *Grant) begin(generator *Generator, tick uint64) (state slot) {
	g.first = tick << g.sequenceBits
	g.generator.Store(generator)
	g.state.Store(uint64(g.id(g.first - 1)))
	return g.first - 1
}

// openTick lets Next issue the rest of the tick of an ID without a comparison of
// the clocks, for the time that is left of it from the moment on. First says that
// the ID is the tick's first one. In a revoked grant that opens nothing, because
// the state is sealed.
func (g *Grant) openTick(id uint64, at clock.Moment, left time.Duration, first bool) {
	g.openLimit.Store(id | g.mask)
	g.tickEnd.Open(at, left, first)
}

// retire ends the grant for good, and returns the last slot issued or reserved.
// A call that still has the grant finds its state changed and cannot advance it.
func (g *Grant) retire() slot {
	g.retired.Store(true)
	return g.slotOf(g.state.Or(sealed))
}

// last is the last slot issued or reserved, also after the grant's end.
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
	state &^= sealed
	return state>>(g.nodeBits+g.sequenceBits)<<g.sequenceBits | state&g.mask
}
