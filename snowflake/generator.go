package snowflake

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
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

// New creates a generator that issues under a worker of the source. It fails if an
// option is wrong or conflicts with the source, if the layout is invalid, starts in the
// future or has expired, or if no worker is available. For a fixed worker that already
// has a live generator the error is [ErrWorkerInUse].
//
// Under a fixed worker New sleeps, for at most 20 ms, until the tick in which the
// process was started is over. With longer ticks the first call of [Generator.Next]
// waits for that.
func New(src WorkerSource, opts ...Option) (*Generator, error) {
	if src == nil {
		return nil, errors.New("snowflake: no worker source: pass Static, FromEnv, FromStatefulSet or a lease; there is no default because two processes would share it")
	}
	g, c, err := prepare(src, opts)
	if err == nil {
		err = g.openFirst(c)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// CheckOptions returns the layout of a generator that [New] creates with these options
// and a source without a layout of its own, such as [Static]. It returns the errors
// that New finds in the options before it asks the source for a worker.
func CheckOptions(opts ...Option) (Layout, error) {
	_, c, err := prepare(Static(0, 0), opts)
	if err != nil {
		return Layout{}, err
	}
	return c.layout, nil
}

// prepare creates a generator without a worker.
func prepare(src WorkerSource, opts []Option) (*Generator, config, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, c, err
	}
	if err := c.adopt(src); err != nil {
		return nil, c, err
	}
	g := newGenerator(src, c)
	return g, c, g.checkLifetime()
}

func newGenerator(src WorkerSource, c config) *Generator {
	g := &Generator{
		secret:       new(maphash.Hash).Sum64(), // 64 random bits
		lag:          uint64((c.lag + c.layout.Tick - 1) / c.layout.Tick),
		sequenceBits: c.layout.SequenceBits,
		lowBits:      uint8(c.layout.lowBits()),
		layout:       c.layout,
		byDefault:    c.byDefault,
		source:       src,
		maxJump:      c.maxJump,
		logical:      c.logical,
		startBits:    c.start.bits(c.layout.SequenceBits),
		changing:     make(chan struct{}, 1),
		warnAt:       uint64(max(0, c.layout.tickOf(c.layout.Expires().Add(-expiryNotice)))),
		closed:       make(chan struct{}),
	}
	g.span = (g.lag + 1) * uint64(c.layout.Tick)
	g.state.Store(sealed)
	g.clock.Init(clock.Config{
		Epoch:   c.layout.Epoch,
		Tick:    c.layout.Tick,
		MaxJump: c.maxJump,
		Wall:    c.wall,
		Read:    c.read,

		NeverTrust: c.logical,
	})
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Layout returns the layout of the IDs that the generator issues.
func (g *Generator) Layout() Layout { return g.layout }

// HasDefaultLayout reports whether the program has left the choice of the layout to the
// generator: it gave neither [WithLayout] nor a source that has a layout, as a lease has.
func (g *Generator) HasDefaultLayout() bool { return g.byDefault }

// Source returns the source that the generator was created with, for example a
// *lease.Lease, whose Stats report its state. [Generator.Health] includes its health.
func (g *Generator) Source() WorkerSource { return g.source }

// expiryNotice is how long before the layout's end the generator logs a warning.
const expiryNotice = 5 * 365 * 24 * time.Hour

func (g *Generator) checkLifetime() error {
	now, _ := g.clock.Read()
	if now.Before(g.layout.Epoch) {
		return fmt.Errorf("snowflake: layout's epoch %v is after the clock's %v", g.layout.Epoch, now)
	}
	if !now.Before(g.layout.Expires()) {
		return g.expired()
	}
	return nil
}

// started is the start time of this process.
var started = time.Now()

// tickAfterStart returns the first tick that a previous process under the same fixed
// worker cannot have used, or zero if the tick in which this process was started is
// over.
func (l Layout) tickAfterStart() int64 {
	if tick := l.tickOf(started); tick == l.tickOf(time.Now()) {
		return tick + 1
	}
	return 0
}

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
