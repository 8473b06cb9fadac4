package storetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/model"
	"github.com/gormflake/gormflake/types"
)

// A view is a store as one process sees it, and a record of what it has seen. It is
// all that a lease.Store may be, as the keys of a read show which one it is.
type view struct {
	lease.Store
	*record
}

type record struct {
	mu     sync.Mutex
	calls  int
	events []model.Event
	tokens model.Tokens
}

// viewed is how many events are kept.
const viewed = 20_000

func newView(store lease.Store) view { return view{store, &record{tokens: model.Tokens{}}} }

func (r *record) emit(e model.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) < viewed {
		r.events = append(r.events, e)
	}
}

func (r *record) call() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return r.calls
}

func (r *record) seen(key int, stored lease.Record) model.Seen {
	if key == model.LayoutWorker {
		return model.SeenLayout(1, stored.Bound, stored.Owner) // the process refuses others
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens.Seen(stored.Bound, stored.Owner)
}

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

func (v view) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	e := model.Event{Kind: model.Sent, Call: v.call(), Worker: worker, Old: v.seen(worker, old), New: v.seen(worker, next)}
	v.emit(e)
	ok, err := v.Store.CompareAndSwap(ctx, worker, old, next)
	v.emit(model.Event{Kind: model.Answered, Call: e.Call, OK: ok && err == nil})
	return ok, err
}

func (v view) Load(ctx context.Context) (map[int]lease.Record, error) {
	v.call()
	return v.Store.Load(ctx)
}

func (v view) Now(ctx context.Context) (time.Time, error) {
	if clock, ok := v.Store.(lease.Clock); ok {
		v.call()
		return clock.Now(ctx)
	}
	return time.Time{}, nil
}

func (v view) Connect(ctx context.Context) (lease.Store, func(), error) {
	connector, ok := v.Store.(lease.Connector)
	if !ok {
		return v, func() {}, nil
	}
	store, release, err := connector.Connect(ctx)
	return view{store, v.record}, release, err
}

func (v view) Enter(ctx context.Context) (func(), error) {
	if queue, ok := v.Store.(lease.Queue); ok {
		return queue.Enter(ctx)
	}
	return func() {}, nil
}

func (v view) Check(ctx context.Context) error {
	if checker, ok := v.Store.(lease.Checker); ok {
		return checker.Check(ctx)
	}
	return nil
}

// began and issued are the beginning and the end of a call for IDs.
func (r *record) began() { r.emit(model.Event{Kind: model.Began}) }

func (m *Member) issued(ids []types.ID) {
	last := model.Event{}
	for _, id := range ids {
		p := m.lease.Layout().Decompose(id)
		e := model.Event{Kind: model.Issued, Worker: int(p.Worker), Tick: p.Time.UnixMilli()}
		if e.Worker != last.Worker || e.Tick != last.Tick {
			m.view.emit(e)
		}
		last = e
	}
}
