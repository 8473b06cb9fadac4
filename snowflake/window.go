package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// extend gets room for the slot from the source, or a grant that has it.
func (g *Generator) extend(ctx context.Context, held *Grant, need slot) error {
	if held.expires() {
		return g.expired()
	}
	ctx, release := g.untilClosed(ctx)
	defer release()
	err := g.ask(ctx, held, need)
	if err != nil && g.closed.Load() {
		return ErrClosed
	}
	return err
}

func (g *Generator) ask(ctx context.Context, held *Grant, need slot) error {
	if err := g.lock(ctx); err != nil {
		return fmt.Errorf("%w, and the source has not answered: %w", ErrFenced, err)
	}
	defer g.unlock()
	switch {
	case g.closed.Load():
		return ErrClosed
	case g.grant.Load() != held || need < held.limit.Load():
		return nil // settled by the call that went before
	}
	next, err := g.source.Extend(ctx, held, held.timeOf(need))
	switch {
	case err != nil:
		return err
	case next != held:
		return g.replace(context.WithoutCancel(ctx), held, next)
	case need >= held.limit.Load():
		return held.fenced()
	}
	return nil
}

// replace goes on under another grant, and gives back the one of the two under
// which nothing will be issued.
func (g *Generator) replace(ctx context.Context, old, next *Grant) error {
	if err := g.accept(ctx, next, old.tickOf(old.last())+1); err != nil {
		if errors.Is(err, ErrFenced) || errors.Is(err, ErrExpired) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	last, ok := g.handOver(old, next)
	if !ok {
		return errors.Join(ErrClosed, g.source.Retire(ctx, next, next.unused()))
	}
	if err := g.source.Retire(ctx, old, old.timeOf(last)); err != nil {
		slog.Warn("snowflake: giving back a replaced worker", "worker", old.String(), "error", err)
	}
	return nil
}

// handOver puts the next grant in the old one's place. The old one is retired
// first: only then is it known which slot was its last.
func (g *Generator) handOver(old, next *Grant) (last slot, ok bool) {
	g.handover.Lock()
	defer g.handover.Unlock()
	if g.closed.Load() {
		return 0, false
	}
	last = old.retire()
	g.skipped.Add(int64(g.begin(next, old.tickOf(last)+1) - last))
	g.grant.Store(next)
	return last, true
}

// lock is held to change the grant. It is a channel so that a call can give
// up waiting for another's answer from the source.
func (g *Generator) lock(ctx context.Context) error {
	select {
	case g.changing <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return reason(ctx)
	}
}

func (g *Generator) unlock() { <-g.changing }
