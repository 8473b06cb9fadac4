package snowflake

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/snowflake/internal/clock"
)

// A Generator issues IDs. [New] creates it. All methods may be called concurrently.
// Close it to release its worker.
type Generator struct {
	// state is the ID of the last slot that was issued, or that a waiting call has
	// reserved. A slot is one sequence number of one tick; see slot. A call takes the
	// next slots by one compare-and-swap of state. Therefore no two calls take the same
	// slot, and no call needs a lock. While the bit sealed of state is set, no swap succeeds.
	//
	// The first cache line of 64 bytes holds state and skipped, which next writes, and the
	// other fields of Generator that next reads. The second line begins with the clock, and
	// holds the fields of the clock that next reads.
	state        atomic.Uint64
	skipped      atomic.Int64  // slots up to the state that no call has returned, because they were left out or lost, or are not due yet
	fastEnd      atomic.Uint64 // first tick that next leaves to nextSlow: end of the grant's window, or warnAt if it is earlier
	secret       uint64        // decides the sequence numbers at which ticks start; see startOf
	lag          uint64        // of WithLag, in ticks
	tickSpan     uint64        // for how long after its start a tick may be used: the tick and the lag, in nanoseconds
	warnAt       uint64        // first tick at which to warn that the layout expires
	sequenceBits uint8
	lowBits      uint8 // bits of datacenter, worker and sequence
	startBits    uint8 // bits of the sequence numbers at which ticks start

	clock clock.Clock

	grant     atomic.Pointer[Grant] // the current grant
	layout    Layout
	byDefault bool // whether the layout is the default; see HasDefaultLayout
	source    WorkerSource
	policy    ClockPolicy   // of OnClockBackwards
	maxJump   time.Duration // of WithMaxJump
	logical   bool          // set by WithLogicalTime

	grantLock chan struct{} // a lock, held while a call asks the source for a window or another grant; see lockGrant
	warned    atomic.Bool   // whether the expiry has been logged

	handover    sync.Mutex      // held while the grant is replaced, and while Close retires the grant; so Close retires the last grant
	closing     atomic.Bool     // set when Close begins
	ctx         context.Context // ends when Close begins
	cancel      context.CancelFunc
	closed      chan struct{} // closed when Close has ended
	closeResult error         // of Close

	// For Stats. The number of IDs is derived from the state and the skipped slots.
	waits    atomic.Uint64
	refusals atomic.Uint64
	issued   atomic.Uint64 // number of IDs last returned by Stats
}

// Layout returns the layout of the IDs that the generator issues.
func (g *Generator) Layout() Layout { return g.layout }

// HasDefaultLayout reports whether the program has left the choice of the layout to the
// generator: it gave neither [WithLayout] nor a source that has a layout, as a lease has.
func (g *Generator) HasDefaultLayout() bool { return g.byDefault }

// Source returns the source that the generator was created with, for example a
// *lease.Lease, whose Stats report its state. [Generator.Health] includes its health.
func (g *Generator) Source() WorkerSource { return g.source }

// last returns the last slot that was issued, or that a waiting call has reserved. It converts
// the state by the current grant. Another grant would give the same slot, because the widths of
// the fields are the same for every grant of the generator.
func (g *Generator) last() slot { return g.grant.Load().slotOf(g.state.Load()) }

// advance moves the state from one slot of the grant to a later slot, and reports whether
// it has. It fails if another call has moved the state, or if the grant was revoked or
// retired, because the state is then sealed.
func (g *Generator) advance(grant *Grant, from, to slot) bool {
	return g.state.CompareAndSwap(uint64(grant.id(from)), uint64(grant.id(to)))
}

// expiryNotice is how long before the layout's end the generator logs a warning.
const expiryNotice = 5 * 365 * 24 * time.Hour

// expiredError returns the error of a call at or after the layout's end.
func (g *Generator) expiredError() error {
	return fmt.Errorf("%w at %v (%v): move to a layout with more time bits, a longer tick or a later epoch", ErrExpired, g.layout.Expires(), g.layout)
}

// warnBeforeExpiry logs a warning if less than expiryNotice is left from tick to the layout's
// end. It logs only one warning for each generator.
func (g *Generator) warnBeforeExpiry(tick uint64) {
	if tick < g.warnAt || g.warned.Swap(true) {
		return
	}
	slog.Warn("snowflake: the layout expires", "at", g.layout.Expires(), "layout", g.layout.String())
}
