package snowflake

import (
	"fmt"
	"sync"
	"time"
)

// workers is this process's record of its fixed workers. It is the package's
// only state: two generators for one worker are a mistake that no single
// generator can notice.
var workers registry

type registry struct {
	mu            sync.Mutex
	registrations map[identity]*registration
}

// identity tells fixed workers apart: two with the same identity issue the same
// IDs. Datacenter and worker are one number, however it is split, and the number
// of bits left for the time changes no ID.
type identity struct {
	shape shape
	node  uint64
}

func (g *Grant) identity() identity {
	shape := g.layout.shape()
	shape.datacenter, shape.worker, shape.total = 0, g.nodeBits, 0
	return identity{shape: shape, node: g.node}
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
	worker := r.registration(g)
	if worker.live {
		return fmt.Errorf("%w: this process already has a generator for %v: share it, or close it first", ErrWorkerInUse, g)
	}
	worker.live = true
	g.from = max(g.from, worker.next)
	return nil
}

func (r *registry) unregister(g *Grant, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	worker := r.registration(g)
	worker.live = false
	worker.next = max(worker.next, g.layout.tickOf(last)+1)
}

func (r *registry) registration(g *Grant) *registration {
	key := g.identity()
	if r.registrations == nil {
		r.registrations = make(map[identity]*registration)
	}
	worker := r.registrations[key]
	if worker == nil {
		worker = &registration{}
		r.registrations[key] = worker
	}
	return worker
}
