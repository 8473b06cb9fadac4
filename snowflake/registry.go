package snowflake

import (
	"fmt"
	"sync"
	"time"
)

// workers is this process's record of its fixed workers. It is the package's
// only state: two generators for one worker are a mistake that no single
// generator can notice.
var workers = registry{registrations: map[identity]registration{}}

type registry struct {
	mu            sync.Mutex
	registrations map[identity]registration
}

// identity tells fixed workers apart: two with the same identity issue the same
// IDs. Datacenter and worker are one number, however it is split, and the number
// of bits left for the time changes no ID.
type identity struct {
	layout Layout
	node   uint64
}

func (g *Grant) identity() identity {
	layout := g.layout.comparable()
	layout.DatacenterBits, layout.WorkerBits, layout.TotalBits = 0, g.nodeBits, 0
	return identity{layout, g.node}
}

type registration struct {
	live bool
	next int64 // the first tick that has not been issued
}

// register fails if a live generator has the worker, and starts the grant above
// what the last one issued.
func (r *registry) register(g *Grant) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	worker := r.registrations[g.identity()]
	if worker.live {
		return fmt.Errorf("%w: this process already has a generator for %v: share it, or close it first", ErrWorkerInUse, g)
	}
	g.from = max(g.from, worker.next)
	r.registrations[g.identity()] = registration{live: true, next: worker.next}
	return nil
}

func (r *registry) unregister(g *Grant, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := max(r.registrations[g.identity()].next, g.layout.tickOf(last)+1)
	r.registrations[g.identity()] = registration{next: next}
}
