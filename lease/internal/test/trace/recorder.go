// Package trace records the calls of a process to its store, and the IDs that it
// issues, so that the model of the protocol can replay them.
package trace

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/model"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A Recorder records the calls of a process to its store.
type Recorder struct {
	Store lease.Store // the store for the process to use

	mu     sync.Mutex
	calls  int // of the store
	events int // that were written; maxEvents if the trace has ended
	out    *json.Encoder
	tokens model.Tokens // the number of each token
	last   model.Event  // the last Issued event; used only by the caller that issues
}

// A view is the store that a recorder gives to a process. It implements all optional
// interfaces of a lease.Store except lease.Settler, even if the recorded store does not. So
// the lease always reads by Get, and the keys of Get show the model for which step the lease
// reads.
type view struct {
	lease.Store
	*Recorder
}

// maxEvents is how many events a recorder writes at most.
const maxEvents = 20_000

// New returns a recorder that writes each event to out by one call, so that the events
// of a killed process are complete.
func New(store lease.Store, out io.Writer) *Recorder {
	r := &Recorder{out: json.NewEncoder(out), tokens: model.Tokens{}}
	r.Store = view{store, r}
	return r
}

// emit writes an event. If that fails, or if there are maxEvents events already, the trace has
// ended, and emit writes neither this event nor a later event.
func (r *Recorder) emit(e model.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events++; r.events > maxEvents || r.out.Encode(e) != nil {
		r.events = maxEvents // so that no later event is written either
	}
}

// Stop ends the trace, which can be read then, and returns how often the store was
// called.
func (r *Recorder) Stop() (calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = maxEvents
	return r.calls
}

// call counts a call of the store and returns its number.
func (r *Recorder) call() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return r.calls
}

// seen returns a stored record in the form of the model's events.
func (r *Recorder) seen(key int, stored lease.Record) model.Seen {
	if key == model.LayoutWorker {
		return model.SeenLayout(1, stored.Bound, stored.Owner) // the process refuses other layouts
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens.Seen(stored.Bound, stored.Owner)
}

// Get reads the records by the store's Get, or by its Load and Now, and records the read. A
// read that fails is not recorded. If the store has no Get, the records may have more keys
// than the caller has named, and the event has only the named keys.
func (v view) Get(ctx context.Context, keys []int) (found map[int]lease.Record, at time.Time, err error) {
	if getter, ok := v.Store.(lease.Getter); ok {
		found, at, err = getter.Get(ctx, keys)
	} else if found, err = v.Store.Load(ctx); err == nil {
		at, err = v.Now(ctx)
	}
	if err != nil {
		return nil, at, err
	}
	e := model.Event{Kind: model.Loaded, Call: v.call(), Keys: slices.Clone(keys), Records: map[int]model.Seen{}, OK: true}
	for _, key := range keys {
		if r, ok := found[key]; ok {
			e.Records[key] = v.seen(key, r)
		}
	}
	v.emit(e)
	return found, at, nil
}

// CompareAndSwap records the write before it is sent, and its answer.
func (v view) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	e := model.Event{Kind: model.Sent, Call: v.call(), Worker: worker, Old: v.seen(worker, old), New: v.seen(worker, next)}
	v.emit(e)
	ok, err := v.Store.CompareAndSwap(ctx, worker, old, next)
	v.emit(model.Event{Kind: model.Answered, Call: e.Call, OK: ok && err == nil, Refused: !ok && err == nil})
	return ok, err
}

// Load counts the call, but records no read, because a read without keys does not show what the
// lease reads for.
func (v view) Load(ctx context.Context) (map[int]lease.Record, error) {
	v.call()
	return v.Store.Load(ctx)
}

// Now returns the store's time, or zero if the store has no clock.
func (v view) Now(ctx context.Context) (time.Time, error) {
	if clock, ok := v.Store.(lease.Clock); ok {
		v.call()
		return clock.Now(ctx)
	}
	return time.Time{}, nil
}

// Connect returns a view over a connection of its own, or the view itself if the store is
// not a [lease.Connector].
func (v view) Connect(ctx context.Context) (lease.Store, func(), error) {
	connector, ok := v.Store.(lease.Connector)
	if !ok {
		return v, func() {}, nil
	}
	store, release, err := connector.Connect(ctx)
	return view{store, v.Recorder}, release, err
}

// Enter waits for a turn, if the store is a [lease.Queue].
func (v view) Enter(ctx context.Context) (func(), error) {
	if queue, ok := v.Store.(lease.Queue); ok {
		return queue.Enter(ctx)
	}
	return func() {}, nil
}

// Check checks the store, if it is a [lease.Checker].
func (v view) Check(ctx context.Context) error {
	if checker, ok := v.Store.(lease.Checker); ok {
		return checker.Check(ctx)
	}
	return nil
}

// Began records the beginning of a call for IDs.
func (r *Recorder) Began() { r.emit(model.Event{Kind: model.Began}) }

// Issued records the IDs of a call that has ended. It records only the first ID of each
// tick, also across calls, because the model knows no sequences. The workers must be of
// datacenter 0, where the worker ID is the key of the record.
func (r *Recorder) Issued(layout snowflake.Layout, ids []types.ID) {
	for _, id := range ids {
		p := layout.Decompose(id)
		e := model.Event{Kind: model.Issued, Worker: int(p.Worker), Tick: p.Time.UnixMilli()}
		if e.Worker != r.last.Worker || e.Tick != r.last.Tick {
			r.emit(e)
		}
		r.last = e
	}
}
