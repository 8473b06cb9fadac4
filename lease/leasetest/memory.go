package leasetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// ErrFault is wrapped by the errors that a [Memory] returns for a [Fault].
var ErrFault = errors.New("leasetest: injected fault")

// A Fault is a failure of a call of a [Memory].
type Fault int

const (
	// None carries the call out normally.
	None Fault = iota
	// LoseRequest returns an error at once. The call has no effect.
	LoseRequest
	// LoseReply carries the call out and returns an error at once. The written record
	// is visible, but a [Memory.Crash] may undo it.
	LoseReply
	// Hold delays the call until [Memory.Deliver]. If the caller's context ends before,
	// the caller gets an error, and Deliver still carries the call out, like a network
	// that delivers a request late.
	Hold
	// Repeat carries the call out twice and returns the second answer, like a proxy
	// that sends a statement again after it has lost the first answer.
	Repeat
)

// String returns the name of the fault.
func (f Fault) String() string {
	switch f {
	case None:
		return "none"
	case LoseRequest:
		return "request lost"
	case LoseReply:
		return "reply lost"
	case Hold:
		return "held"
	case Repeat:
		return "repeated"
	default:
		return fmt.Sprintf("Fault(%d)", int(f))
	}
}

// A Call describes one call of a [Memory], for the hook of [Memory.OnCall].
type Call struct {
	// Swap is true for CompareAndSwap and false for Load, for which the
	// fields below are zero.
	Swap     bool
	Worker   int
	Old, New lease.Record
}

// Calls counts the calls of a [Memory], including failed calls.
type Calls struct{ Loads, Swaps int }

// A Memory is a [lease.Store] in memory, for tests. It can be made to fail in all the
// ways in which a real store fails. [NewMemory] makes it. Its methods may be called
// concurrently. Under testing/synctest it must be made inside the bubble.
type Memory struct {
	mu      sync.Mutex
	records map[int]lease.Record
	undo    []undoStep       // for Crash: a step for each write since the last acknowledged write
	calls   Calls            // so far
	down    bool             // whether all calls fail
	next    []Fault          // set by Fail, for the next calls of CompareAndSwap
	decide  func(Call) Fault // the hook of OnCall; may be nil
	held    []*heldCall      // the calls on Hold, oldest first
}

// An undoStep undoes a write. It has the record that the write has replaced.
type undoStep struct {
	worker  int
	record  lease.Record
	present bool // false if the worker had no record
}

// A heldCall is a call that [Memory.Deliver] is to carry out. Its caller still waits for
// Deliver, or has given up because its context has ended.
type heldCall struct {
	ctx      context.Context         // of the caller, which waits until ctx ends
	carryOut func(acknowledged bool) // see Memory.call
	done     chan struct{}           // closed when the call is answered
}

var _ lease.Store = (*Memory)(nil)

// NewMemory returns a store without records.
func NewMemory() *Memory { return &Memory{records: map[int]lease.Record{}} }

// Load returns a copy of all records, unless a fault is set for the call.
func (m *Memory) Load(ctx context.Context) (map[int]lease.Record, error) {
	var records map[int]lease.Record
	err := m.call(ctx, Call{}, func(bool) { records = maps.Clone(m.records) })
	if err != nil {
		return nil, err
	}
	return records, nil
}

// CompareAndSwap replaces the record of worker if it equals old, unless a fault is set
// for the call.
func (m *Memory) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	if err := stores.CheckRecords("leasetest", worker, old, to); err != nil {
		return false, err
	}
	var swapped bool // set when the call is carried out, which may be after its caller has given up
	err := m.call(ctx, Call{true, worker, old, to}, func(acknowledged bool) {
		if swapped = m.records[worker] == old; swapped {
			m.write(worker, to, acknowledged)
		}
	})
	if err != nil {
		return false, err // Deliver may still write it
	}
	return swapped, nil
}

// write replaces a record. It remembers the old record, so that Crash can undo the write. If
// the write is acknowledged, write then forgets all remembered records, because in a store
// with one log for all writes, neither an acknowledged write nor any write before it can be
// undone. The caller holds mu.
func (m *Memory) write(worker int, to lease.Record, acknowledged bool) {
	before, present := m.records[worker]
	m.undo = append(m.undo, undoStep{worker, before, present})
	m.records[worker] = to
	if acknowledged {
		m.undo = nil
	}
}

// call applies the fault that is set for the call c, and carries the call out by carryOut if
// the fault allows. carryOut is called with mu held. Its argument acknowledged is true if the
// caller gets an answer.
func (m *Memory) call(ctx context.Context, c Call, carryOut func(acknowledged bool)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch fault := m.fault(c); fault {
	case None:
		m.locked(func() { carryOut(true) })
		return nil
	case LoseReply:
		m.locked(func() { carryOut(false) })
		return fmt.Errorf("%w: %v", ErrFault, fault)
	case Hold:
		return m.hold(ctx, carryOut)
	case Repeat:
		m.locked(func() { carryOut(true); carryOut(true) }) // the caller gets the second answer
		return nil
	default: // LoseRequest, or a number that is not a Fault
		return fmt.Errorf("%w: %v", ErrFault, fault)
	}
}

// locked calls f while it holds mu.
func (m *Memory) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// fault counts the call and returns its fault, which may be None. A fault that Down or Fail
// has set comes first, and then the hook of OnCall decides. fault calls the hook without the
// lock, so that the hook may use the store.
func (m *Memory) fault(c Call) Fault {
	m.mu.Lock()
	fault, decide := m.nextFault(c), m.decide
	m.mu.Unlock()
	if fault == None && decide != nil {
		return decide(c)
	}
	return fault
}

// nextFault counts the call, and returns the fault that Down or Fail has set for it, or
// None. The caller holds mu.
func (m *Memory) nextFault(c Call) Fault {
	if c.Swap {
		m.calls.Swaps++
	} else {
		m.calls.Loads++
	}
	if m.down {
		return LoseRequest
	}
	if !c.Swap || len(m.next) == 0 {
		return None
	}
	fault := m.next[0]
	m.next = m.next[1:]
	return fault
}

// hold waits until Deliver has carried the call out and returns nil, or returns an error if ctx
// ends first. The call then remains on hold, so that Deliver still carries it out.
func (m *Memory) hold(ctx context.Context, carryOut func(acknowledged bool)) error {
	h := &heldCall{ctx, carryOut, make(chan struct{})}
	m.locked(func() { m.held = append(m.held, h) })
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %v: %w", ErrFault, Hold, context.Cause(ctx))
	}
}

// Fail sets the faults of the next calls of CompareAndSwap, one fault for each call,
// after the faults that are already set.
func (m *Memory) Fail(faults ...Fault) {
	m.locked(func() { m.next = append(m.next, faults...) })
}

// OnCall sets a hook that chooses the fault of every call for which neither
// [Memory.Fail] nor [Memory.Down] has set a fault. The hook may be called concurrently,
// and may use the store. Nil removes it.
func (m *Memory) OnCall(decide func(Call) Fault) {
	m.locked(func() { m.decide = decide })
}

// Down makes all calls fail, without effect, until [Memory.Up].
func (m *Memory) Down() { m.locked(func() { m.down = true }) }

// Up ends [Memory.Down].
func (m *Memory) Up() { m.locked(func() { m.down = false }) }

// Deliver carries out the calls that are on [Hold], in their order, and returns how many calls
// it has carried out. Callers that still wait get their answers. If a caller has given up, its
// write is visible but not acknowledged, so that [Memory.Crash] may undo it.
func (m *Memory) Deliver() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.held
	m.held = nil
	for _, h := range held {
		waiting := h.ctx.Err() == nil // otherwise the write is not acknowledged
		h.carryOut(waiting)
		if waiting {
			close(h.done)
		}
	}
	return len(held)
}

// Held returns the number of calls that are on [Hold].
func (m *Memory) Held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.held)
}

// Put writes a record without comparing it and without a fault, like an acknowledged
// write of another process. To make the store forget a write, put the old record back.
func (m *Memory) Put(worker int, record lease.Record) {
	m.locked(func() { m.write(worker, record, true) }) // acknowledged
}

// Crash undoes all writes after the last acknowledged write. These are the writes whose reply
// was lost, or whose caller had stopped waiting when they were delivered. Crash returns how
// many writes it has undone. Calls on [Hold] remain on hold.
func (m *Memory) Crash() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	undo := m.undo
	m.undo = nil
	for _, before := range slices.Backward(undo) {
		m.records[before.worker] = before.record
		if !before.present {
			delete(m.records, before.worker)
		}
	}
	return len(undo)
}

// Records returns a copy of all records, without a fault and without counting a call.
func (m *Memory) Records() map[int]lease.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records)
}

// Calls returns how often the store has been called.
func (m *Memory) Calls() Calls {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}
