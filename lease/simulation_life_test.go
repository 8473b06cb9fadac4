//go:build replay

package lease_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/model"
	"github.com/gormflake/gormflake/lease/internal/test/trace"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A life is one process, from Acquire to its end.
type life struct {
	*client
	choices, leaseRandom *stream // for the choices of the process, and for those of its lease
	window               time.Duration
	clock                *skew           // the wall clock of the process
	seen                 *trace.Recorder // records the process's view of the store
	last                 model.Event     // the last Issued event
	lastID               types.ID
}

// newLife returns a process for the place in the fleet that the argument process names. The
// argument number counts the previous processes in this place. The clock of the process is up
// to two seconds wrong.
func (s *simulation) newLife(seed uint64, process, number int) *life {
	l := &life{
		client:  &client{simulation: s, process: process, faults: newStream(seed, 3, process, number)},
		choices: newStream(seed, 4, process, number), leaseRandom: newStream(seed, 5, process, number),
		window: 30 * time.Second, clock: new(skew),
	}
	l.layout = snowflake.Layout{Epoch: time.UnixMilli(631152000000).UTC(), Tick: simulatedTick, WorkerBits: 4, SequenceBits: 12}
	l.clock.set(l.choices.upTo(4*time.Second) - 2*time.Second)
	if s.forgets {
		return l
	}
	l.window += 10 * time.Second * time.Duration(l.choices.n(4))
	if l.choices.oneIn(50) {
		l.layout.SequenceBits = 11 // Acquire then fails, unless the store has this layout or none
	}
	return l
}

// live runs the process: it acquires a lease, issues IDs, and ends in one of several ways.
func (l *life) live() {
	defer l.die()
	l.seen = l.newRecorder(l.client)
	ctx, cancel := l.startContext()
	got, err := lease.Acquire(ctx, l.seen.Store, l.layout, l.leaseOptions()...)
	cancel()
	if err != nil {
		time.Sleep(l.choices.upTo(l.window)) // in which the lease releases workers that it may have claimed
		return
	}
	l.setLease(got)
	gen, err := snowflake.New(got, l.generatorOptions()...)
	if err != nil {
		_ = got.Release(context.Background())
		return
	}
	l.issue(gen)
	l.end(gen)
}

// startContext returns the context of Acquire, which sometimes ends before the store answers.
func (l *life) startContext() (context.Context, context.CancelFunc) {
	if l.choices.oneIn(3) {
		return context.WithTimeout(context.Background(), l.choices.upTo(3*time.Second))
	}
	return context.WithCancel(context.Background())
}

// leaseOptions returns the options of the lease. On a store that forgets, every lease
// settles.
func (l *life) leaseOptions() []lease.Option {
	opts := []lease.Option{lease.WithClock(l.clock.now), lease.WithLogger(discard()), lease.WithWindow(l.window), lease.WithRandom(l.leaseRandom.n)}
	switch {
	case l.forgets: // clocks differ by up to four seconds, so that ten seconds more than a window are enough
		opts = append(opts, lease.WithSettle(l.window+10*time.Second))
	case l.choices.oneIn(3):
		opts = append(opts, lease.WithMaxAhead(2*l.window))
	case l.choices.oneIn(10):
		opts = append(opts, lease.WithSettle(l.window))
	}
	return opts
}

// generatorOptions returns the options of the generator, which decide how it runs ahead
// of or behind its clock.
func (l *life) generatorOptions() []snowflake.Option {
	opts := []snowflake.Option{snowflake.WithSequenceStart(snowflake.StartZero)}
	switch n := l.choices.n(4); {
	case n == 0 && !l.forgets:
		return append(opts, snowflake.WithLogicalTime())
	case n == 1:
		return append(opts, snowflake.WithLag(l.window/2))
	}
	return append(opts, snowflake.OnClockBackwards(snowflake.Tolerate(time.Hour)))
}

// issue takes an ID every few seconds, pauses, and steps its clock.
func (l *life) issue(gen *snowflake.Generator) {
	for range 1 + l.choices.n(200) {
		time.Sleep(l.choices.upTo(5 * time.Second))
		switch {
		case l.choices.oneIn(100):
			time.Sleep(l.choices.upTo(3 * l.window))
		case l.choices.oneIn(50) && !l.forgets:
			l.clock.set(l.choices.upTo(2*l.window) - l.window)
		}
		if time.Now().After(l.until) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.choices.upTo(10*time.Second))
		before := l.lease.Stats()
		l.seen.Began()
		id, err := gen.Next(ctx)
		cancel()
		if err == nil {
			l.seen.Issued(l.layout, []types.ID{id})
			l.note(id, before)
		}
	}
}

// note checks an ID by verify, and adds it to the trace if it is the first ID of its tick and
// worker.
func (l *life) note(id types.ID, before lease.Stats) {
	e := model.Event{Kind: model.Issued, Process: l.process, Worker: key(l.layout, id), Tick: l.tickOf(l.layout.Time(id).UnixMilli())}
	l.verify(id, e.Worker, before, l.lease.Stats())
	if e.Worker != l.last.Worker || e.Tick != l.last.Tick {
		l.last = e
		l.holds()
		l.emit(e)
	}
}

// verify checks an ID without the model. The ID must be new, above the previous ID of the
// process, and of the worker that the lease holds, unless the lease has lost its worker
// during the call.
func (l *life) verify(id types.ID, worker int, before, after lease.Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before.Losses+before.Regressions == after.Losses+after.Regressions && int64(worker) != after.Worker {
		l.wrong = append(l.wrong, fmt.Errorf("ID %d is of worker %d after its loss was known, and the lease holds %d", id, worker, after.Worker))
	}
	if id <= l.lastID {
		l.wrong = append(l.wrong, fmt.Errorf("ID %d was issued after %d", id, l.lastID))
	}
	if l.ids[id] {
		l.wrong = append(l.wrong, fmt.Errorf("ID %d was issued twice", id))
	}
	l.ids[id], l.lastID, l.highest[worker] = true, id, max(l.highest[worker], id)
}

// end closes the generator. One time in three, it first kills the process, so that the store
// gets no more calls. If Close fails, end releases the lease too.
func (l *life) end(gen *snowflake.Generator) {
	killed := l.choices.oneIn(3)
	ctx, cancel := context.WithTimeout(context.Background(), l.choices.upTo(20*time.Second))
	defer cancel()
	if killed {
		l.die()
	}
	if gen.Close(ctx) != nil {
		_ = l.lease.Release(context.Background())
	}
}
