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
	// The first cache line of 64 bytes holds the fields that next needs for an ID and
	// writes. The second line, which begins with the clock, holds fields that it only
	// reads.
	state        atomic.Uint64 // the ID of the last slot issued or reserved; see sealed
	skipped      atomic.Int64  // slots below the state that are not issued: burnt, jumped over, lost or not due yet
	end          atomic.Uint64 // first tick that next must not start: the grant's window ends, or the layout expires soon
	secret       uint64        // decides the sequence numbers at which ticks start; see startOf
	lag          uint64        // ticks
	span         uint64        // the tick and the lag, in nanoseconds
	warnAt       uint64        // first tick at which to warn that the layout expires
	sequenceBits uint8
	lowBits      uint8 // bits of datacenter, worker and sequence
	startBits    uint8 // bits of the sequence numbers at which ticks start

	clock clock.Clock

	grant     atomic.Pointer[Grant] // the current grant
	layout    Layout
	byDefault bool // whether the layout is the default; see HasDefaultLayout
	source    WorkerSource
	policy    ClockPolicy
	maxJump   time.Duration
	logical   bool

	changing chan struct{} // see lockGrant
	warned   atomic.Bool   // whether the expiry has been logged

	handover sync.Mutex // held by Close, and to replace the grant
	closing  atomic.Bool
	ctx      context.Context // ends when Close begins
	cancel   context.CancelFunc
	closed   chan struct{} // closed when Close has ended
	result   error         // of Close

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

// last returns the last slot issued or reserved.
func (g *Generator) last() slot { return g.grant.Load().slotOf(g.state.Load()) }

// advance moves the state from one slot of the grant to a later slot, unless another
// call has moved it. It reports whether it has.
func (g *Generator) advance(grant *Grant, from, to slot) bool {
	return g.state.CompareAndSwap(uint64(grant.id(from)), uint64(grant.id(to)))
}

// expiryNotice is how long before the layout's end the generator logs a warning.
const expiryNotice = 5 * 365 * 24 * time.Hour

func (g *Generator) expired() error {
	return fmt.Errorf("%w at %v (%v): move to a layout with more time bits, a longer tick or a later epoch", ErrExpired, g.layout.Expires(), g.layout)
}

// warnBeforeExpiry logs one warning when the layout's end is near.
func (g *Generator) warnBeforeExpiry(tick uint64) {
	if tick < g.warnAt || g.warned.Swap(true) {
		return
	}
	slog.Warn("snowflake: the layout expires", "at", g.layout.Expires(), "layout", g.layout.String())
}
