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

// identity tells fixed workers apart: the same number under another layout is
// another ID space.
type identity struct {
	shape shape
	node  uint64
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
	key := identity{shape: g.layout.shape(), node: g.node}
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
