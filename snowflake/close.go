package snowflake

import (
	"context"
	"fmt"
)

// Close stops the generator, releases its worker and returns the source's error, if
// any. Once Close has begun no more slots are taken, even if Close fails. Later calls,
// and calls that wait for the source, fail with [ErrClosed]. Calls that wait for a slot
// they have already taken get their IDs, unless its grant was revoked.
//
// A second Close waits for the first one, until its own ctx ends, and returns the same
// result. For a fixed worker Close never fails, so defer
// gen.Close(context.Background()) is right for it.
func (g *Generator) Close(ctx context.Context) error {
	grant, last, first := g.seal()
	if !first {
		return g.waitClosed(ctx)
	}
	defer close(g.closed)
	g.cancel() // ends calls that wait for the source
	g.closeResult = g.source.Retire(ctx, grant, grant.timeOf(last))
	return g.closeResult
}

// seal retires the current grant, so that no more slots are taken, and prevents another grant
// from replacing it. It returns the grant and its last slot. first is false, and seal does
// nothing, if an earlier Close has done this.
func (g *Generator) seal() (grant *Grant, last slot, first bool) {
	g.handover.Lock()
	defer g.handover.Unlock()
	if g.closing.Swap(true) {
		return nil, 0, false
	}
	grant = g.grant.Load()
	return grant, grant.retire(), true
}

// waitClosed waits for another Close and returns its result. It returns an error if ctx ends
// first.
func (g *Generator) waitClosed(ctx context.Context) error {
	select {
	case <-g.closed:
	case <-ctx.Done():
	}
	select {
	case <-g.closed: // even if ctx has ended too
		return g.closeResult
	default:
		return fmt.Errorf("snowflake: waiting for another Close: %w", contextError(ctx))
	}
}
