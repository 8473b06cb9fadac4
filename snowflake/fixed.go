package snowflake

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gormflake/gormflake/internal/podname"
)

// Environment variables that [FromEnv] reads.
const (
	datacenterVariable = "SNOWFLAKE_DATACENTER_ID"
	workerVariable     = "SNOWFLAKE_WORKER_ID"
)

// Static returns the source of a worker ID that you have assigned to this process, and
// to no other process that runs at the same time. [New] rejects numbers that the layout
// cannot hold.
//
// Within a process a fixed worker has one live generator per layout. For a second
// generator [New] returns [ErrWorkerInUse] until the first is closed. The second
// generator then starts after the last tick in which the first generator issued an ID.
//
// A process does not know the ticks of the previous process. A generator therefore issues
// no ID in the tick in which its process was started, because the previous process may
// have used that tick. New sleeps until the tick is over if that takes at most 20 ms. With
// longer ticks the first [Generator.Next] waits for the end of the tick. Under [WithClock]
// this rule does not apply. If the clock may step back between two processes, take a lease.
func Static(datacenter, worker int64) WorkerSource {
	return fixedSource(func(Layout) (int64, int64, error) { return datacenter, worker, nil })
}

// FromEnv is [Static] with the numbers in the environment variables
// SNOWFLAKE_DATACENTER_ID and SNOWFLAKE_WORKER_ID, read when the generator is created.
// A variable that is unset or not a number is an error, never zero, because a forgotten
// variable would make every process worker zero. The datacenter may be unset if the
// layout has no bits for it.
func FromEnv() WorkerSource {
	return fixedSource(func(layout Layout) (datacenter, worker int64, err error) {
		if _, set := os.LookupEnv(datacenterVariable); set || layout.DatacenterBits > 0 {
			if datacenter, err = numberFromEnv(datacenterVariable); err != nil {
				return 0, 0, err
			}
		}
		worker, err = numberFromEnv(workerVariable)
		return datacenter, worker, err
	})
}

// numberFromEnv returns the number in an environment variable. It returns an error if the
// variable is not set or is not a number from 0 to 2^31-1.
func numberFromEnv(name string) (int64, error) {
	value, set := os.LookupEnv(name)
	if !set {
		return 0, fmt.Errorf("snowflake: %s is not set: give every process its own number, or take a lease; there is no default because two processes would share it", name)
	}
	number, err := strconv.ParseUint(value, 10, 31) // NewGrant rejects a number that the layout cannot hold
	if err != nil {
		return 0, fmt.Errorf("snowflake: %s=%q: want a number that only this process has", name, value)
	}
	return int64(number), nil
}

// FromStatefulSet is [Static] with the ordinal at the end of the host name as the
// worker: pod web-7 of a Kubernetes StatefulSet is worker 7. A host name without an
// ordinal is an error. Use FromStatefulSet in StatefulSets only, because other host names
// that end in -<number>, such as ip-10-0-3-17, look like the name of a pod. Two
// StatefulSets that share a table need different datacenters.
func FromStatefulSet(datacenter int64) WorkerSource {
	return fixedSource(func(Layout) (int64, int64, error) {
		host, err := os.Hostname()
		if err != nil {
			return 0, 0, fmt.Errorf("snowflake: host name: %w", err)
		}
		worker, err := podname.Ordinal(host)
		if err != nil {
			return 0, 0, fmt.Errorf("snowflake: %w", err)
		}
		return datacenter, worker, nil
	})
}

// fixedSource is a source whose worker does not change. The function returns its
// datacenter and worker for a layout. The registry fixedWorkers keeps the worker
// exclusive within the process.
type fixedSource func(Layout) (datacenter, worker int64, err error)

// Layout returns the zero Layout, so that [WithLayout] or the default decides.
func (fixedSource) Layout() Layout { return Layout{} }

// Clock returns nil, so that [WithClock] or the default decides.
func (fixedSource) Clock() func() time.Time { return nil }

// Grant returns a grant of the worker for all ticks of the layout. It returns ErrWorkerInUse if a
// live generator of this process has the worker.
func (f fixedSource) Grant(_ context.Context, layout Layout) (*Grant, error) {
	datacenter, worker, err := f(layout)
	if err != nil {
		return nil, err
	}
	grant, err := NewGrant(layout, datacenter, worker, layout.Epoch, time.Time{})
	if err != nil {
		return nil, err
	}
	return grant, fixedWorkers.register(grant)
}

// Extend returns held unchanged. The window of a fixed worker ends with the layout, so nothing
// can be extended.
func (fixedSource) Extend(_ context.Context, held *Grant, _ time.Time) (*Grant, error) {
	return held, nil
}

// Retire frees the worker for the next generator of this process, which starts above last.
func (fixedSource) Retire(_ context.Context, held *Grant, last time.Time) error {
	fixedWorkers.unregister(held, last)
	return nil
}

// fixedWorkers records the fixed workers of this process. It is the package's only mutable
// state. It is needed because no single generator can notice a second generator for its
// worker.
var fixedWorkers = registry{registrations: map[identity]registration{}}

// A registry remembers each fixed worker that had a generator in this process.
type registry struct {
	mu            sync.Mutex
	registrations map[identity]registration
}

// identity is the registry's key for a fixed worker. Two workers with the same identity issue
// the same IDs, even if their layouts differ. For example, datacenter 1 and worker 1 with 5 bits
// each give the same IDs as worker 33 with 10 bits. Therefore identity has datacenter and worker
// as one number, and ignores the number of bits for the time.
type identity struct {
	layout Layout
	node   uint64
}

// identity returns the identity of the grant's worker. In its layout, the bits of the datacenter
// are counted as bits of the worker.
func (g *Grant) identity() identity {
	layout := g.layout.comparable()
	layout.DatacenterBits, layout.WorkerBits, layout.TotalBits = 0, g.nodeBits, 0
	return identity{layout, g.node}
}

// A registration is what the registry remembers of a worker.
type registration struct {
	live bool  // a generator that is not closed issues under the worker
	next int64 // the tick after the last tick that a closed generator has used
}

// register records that a generator is live under the grant's worker, or returns an error if
// another live generator has the worker. It makes the grant begin above the last tick that a
// closed generator of this process has used.
func (r *registry) register(g *Grant) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	worker := r.registrations[g.identity()]
	if worker.live {
		return fmt.Errorf("%w: this process already has a generator for %v: share it, or close it first", ErrWorkerInUse, g)
	}
	g.firstTick = max(g.firstTick, worker.next)
	r.registrations[g.identity()] = registration{live: true, next: worker.next}
	return nil
}

// unregister frees the worker of a closed generator. It remembers that the generator has used the
// ticks of this worker up to the tick that contains last.
func (r *registry) unregister(g *Grant, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := max(r.registrations[g.identity()].next, g.layout.tickOf(last)+1)
	r.registrations[g.identity()] = registration{next: next}
}
