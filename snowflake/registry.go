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
	mu   sync.Mutex
	held map[identity]*tenure
}

// identity tells fixed workers apart: two that have it in common issue the same
// IDs. Datacenter and worker are one number, however it is split, and how many
// bits are left for the time changes no ID.
type identity struct {
	shape shape
	node  uint64
}

func (g *Grant) identity() identity {
	shape := g.layout.shape()
	shape.datacenter, shape.worker, shape.total = 0, g.nodeBits, 0
	return identity{shape: shape, node: g.node}
}

type tenure struct {
	live bool
	next int64 // the first tick that has not been issued
}

func (r *registry) take(g *Grant) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tenure(g)
	if t.live {
		return fmt.Errorf("%w: this process already has a generator for %v: share it, or close it first", ErrWorkerInUse, g)
	}
	t.live = true
	g.from = max(g.from, t.next)
	return nil
}

func (r *registry) free(g *Grant, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tenure(g)
	t.live = false
	t.next = max(t.next, g.layout.tickOf(last)+1)
}

func (r *registry) tenure(g *Grant) *tenure {
	key := g.identity()
	if r.held == nil {
		r.held = make(map[identity]*tenure)
	}
	t := r.held[key]
	if t == nil {
		t = &tenure{}
		r.held[key] = t
	}
	return t
}
