package snowflake

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// An ending is how far Close has come.
type ending struct {
	handover sync.Mutex // held to close, and to put a grant in another's place
	closed   atomic.Bool
	life     context.Context // ends when Close begins
	quit     context.CancelFunc
	gone     chan struct{} // closed when Close has ended
	result   error         // of Close
}

// Close ends the generator and gives its worker back; what the source says
// about that is returned. From its first moment on nothing is issued any more,
// also where it fails. Calls that come later, or that are waiting for the
// source, fail with [ErrClosed]; calls that wait for a slot already taken get
// their IDs, unless its grant was revoked. Another Close waits for the first one, until its own ctx ends, and
// returns the same. A fixed worker has nothing to say:
// defer gen.Close(context.Background()) is right for it.
func (g *Generator) Close(ctx context.Context) error {
	grant, last, first := g.shut()
	if !first {
		return g.waitClosed(ctx)
	}
	defer close(g.gone)
	g.quit()
	g.result = g.source.Retire(ctx, grant, grant.timeOf(last))
	return g.result
}

// shut seals the grant that is in place, and lets no other follow.
func (g *Generator) shut() (grant *Grant, last slot, first bool) {
	g.handover.Lock()
	defer g.handover.Unlock()
	if g.closed.Swap(true) {
		return nil, 0, false
	}
	grant = g.grant.Load()
	return grant, grant.retire(), true
}

func (g *Generator) waitClosed(ctx context.Context) error {
	select {
	case <-g.gone:
	case <-ctx.Done():
	}
	select {
	case <-g.gone:
		return g.result
	default:
		return fmt.Errorf("snowflake: waiting for another Close: %w", reason(ctx))
	}
}
