//go:build replay

package lease_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/model"
	"github.com/gormflake/gormflake/lease/internal/test/trace"
	"github.com/gormflake/gormflake/types"
)

// simulatedTick is long, so that a trace is short.
const simulatedTick = time.Second

// layoutNumber is the number of a layout, by whether its sequence has 11 bits.
var layoutNumber = map[bool]int64{false: 1, true: 2}

var errSimulated = errors.New("simulated: no answer")

// A simulation is a fleet and its store. The store shows writes that it may still
// forget. Writes become durable in their order, with the next acknowledgement, or
// never.
type simulation struct {
	start, until time.Time
	world        *stream // decides on crashes and the operator
	forgets      bool    // the store forgets acknowledged writes

	mu      sync.Mutex
	visible map[int]lease.Record
	log     []*flight // visible writes that are not durable
	down    time.Time // the store does not answer until then
	calls   int
	tokens  model.Tokens // the numbers of tokens in the trace
	events  []model.Event
	ids     map[types.ID]bool
	users   [16]map[*client]bool // by worker: the live processes that have written its record
	highest [16]types.ID         // the highest ID of each worker
	views   []*bytes.Buffer      // the views that all processes have written
	wrong   []error              // errors that were found without the model
}

// A flight is a write on its way to the store, or in the store's log. The field wrote reports
// whether the store has replaced the record old by next. The field forgotten reports whether
// the store has undone this replacement.
type flight struct {
	process, call, worker int
	old, next             lease.Record
	landed                chan struct{} // closed once wrote is set
	wrote, forgotten      bool
}

// A stream is a sequence of random numbers. Consumers that may draw at the same
// instant, in an undetermined order, have different streams.
type stream struct {
	mu sync.Mutex
	r  *rand.Rand
}

// newStream returns a stream whose numbers depend on all arguments. Each purpose has a
// number.
func newStream(seed uint64, purpose, process, life int) *stream {
	return &stream{r: rand.New(rand.NewPCG(seed, uint64(purpose)<<48|uint64(process)<<32|uint64(life)))}
}

// n returns a random number in [0, n).
func (s *stream) n(n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Int64N(n)
}

// upTo returns a random time of at most d. It is a random number of nanoseconds, so that two
// timers hardly ever fire at the same instant, because they would run in random order.
func (s *stream) upTo(d time.Duration) time.Duration { return 1 + time.Duration(s.n(int64(d))) }

// oneIn returns true once in n times.
func (s *stream) oneIn(n int64) bool { return s.n(n) == 0 }

// newRecorder returns a recorder for the view of a new process.
func (s *simulation) newRecorder(c *client) *trace.Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = append(s.views, new(bytes.Buffer))
	return trace.New(c, s.views[len(s.views)-1])
}

// emit adds an event to the trace.
func (s *simulation) emit(e model.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitLocked(e)
}

// emitLocked adds an event to the trace. The caller holds mu.
func (s *simulation) emitLocked(e model.Event) {
	e.At = time.Since(s.start)
	s.events = append(s.events, e)
}

// tickOf returns the tick of a time in Unix milliseconds. The start of the simulation is tick
// 1000, so that clocks that are behind show a tick above zero. Times long before the start,
// such as the layout's epoch, are tick zero.
func (s *simulation) tickOf(ms int64) int64 {
	return max(0, (ms-s.start.UnixMilli())/simulatedTick.Milliseconds()+1000)
}

// seen returns a record in the form of the model, in which ticks and tokens are numbers.
func (s *simulation) seen(key int, r lease.Record) model.Seen {
	if key == model.LayoutWorker {
		return model.SeenLayout(layoutNumber[strings.Contains(r.Owner, "sequence=11")], r.Bound, r.Owner)
	}
	return s.tokens.Seen(s.tickOf(r.Bound), r.Owner)
}

// write writes the record if the visible record equals old, and reports whether it has.
// The caller holds mu.
func (s *simulation) write(w *flight) bool {
	w.wrote = s.visible[w.worker] == w.old
	if w.wrote {
		s.visible[w.worker] = w.next
		s.log = append(s.log, w)
	}
	return w.wrote
}

// makeDurable makes a write durable, and all writes before it, by removing them from the log.
// A store that forgets keeps them in the log, so that a crash may still undo them. The caller
// holds mu.
func (s *simulation) makeDurable(w *flight) {
	if i := slices.Index(s.log, w); !s.forgets { // i is -1 if the write is durable already
		s.log = s.log[i+1:]
	}
}

// forget undoes the given writes, the last write first. It leaves a write whose record another
// write has replaced since. The caller holds mu.
func (s *simulation) forget(writes []*flight) {
	for _, w := range slices.Backward(writes) {
		if s.visible[w.worker] != w.next {
			continue
		}
		w.forgotten = true
		s.visible[w.worker] = w.old
		if w.old == (lease.Record{}) {
			delete(s.visible, w.worker)
		}
	}
}

// crash forgets the end of the log. Afterwards the store may be down for a while.
func (s *simulation) crash() {
	kept, down := int(s.world.n(1<<30)), s.world.upTo(30*time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world.oneIn(3) {
		s.down = time.Now().Add(down)
	}
	kept %= len(s.log) + 1
	s.emitLocked(model.Event{Kind: model.Crashed, Tick: int64(len(s.log) - kept)})
	s.forget(s.log[kept:])
	s.log = nil
}

// rollBack undoes all writes of one process that are still in the log, like a database that
// ends a session whose transaction was left open. Only a store that forgets does this.
func (s *simulation) rollBack() {
	process := int(s.world.n(17)) // a fleet has at most 17 processes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(slices.DeleteFunc(slices.Clone(s.log), func(w *flight) bool { return w.process != process }))
	s.log = slices.DeleteFunc(s.log, func(w *flight) bool { return w.forgotten })
}

// An operator evicts holders and raises bounds. It always gets an answer.
type operator struct{ *simulation }

func (o operator) Load(context.Context) (map[int]lease.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.visible), nil
}

func (o operator) CompareAndSwap(_ context.Context, worker int, old, next lease.Record) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.write(&flight{process: -1, worker: worker, old: old, next: next}) {
		return false, nil
	}
	o.emitLocked(model.Event{Kind: model.Operated, Process: -1, Worker: worker, Old: o.seen(worker, old), New: o.seen(worker, next)})
	return true, nil
}

// operate lets the operator raise all bounds, evict a holder, or lower the bound of a
// worker that no live process has written.
func (s *simulation) operate() {
	in, err := lease.Inspect(context.Background(), operator{s})
	if err != nil || len(in.Holders) == 0 {
		return
	}
	if s.world.oneIn(8) {
		_, _ = in.Raise(context.Background(), time.Now().Add(s.world.upTo(20*time.Second)))
		return
	}
	h := in.Holders[s.world.n(int64(len(in.Holders)))]
	switch {
	case strings.Contains(h.Owner, "/"):
		_ = in.Evict(context.Background(), h)
	case s.isUnused(h.Worker):
		_ = in.Lower(context.Background(), h, in.Layout.Time(s.highest[h.Worker]).Add(time.Millisecond))
	}
}

// isUnused reports whether no live process has written the record of the worker, so that
// its bound may be lowered.
func (s *simulation) isUnused(worker int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.users[worker]) == 0
}
