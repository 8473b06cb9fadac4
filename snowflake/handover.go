package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// startPause bounds New's sleep.
const startPause = 20 * time.Millisecond

// open takes the first grant.
func (g *Generator) open(c config) error {
	ctx := context.Background()
	grant, err := g.source.Grant(ctx, g.layout)
	if err != nil {
		return err
	}
	if grant != nil {
		g.passStart(grant)
	}
	if err := g.accept(ctx, grant, 0); err != nil {
		return err
	}
	if err := c.settle(grant); err != nil {
		return errors.Join(err, g.source.Retire(ctx, grant, grant.unused()))
	}
	g.policy = *c.policy
	g.origin = g.begin(grant, 0)
	g.grant.Store(grant)
	return nil
}

// passStart keeps a fixed worker out of the tick in which the process was
// started, and sleeps until that is over where it soon is: a program's first
// TryNext is to find a slot.
func (g *Generator) passStart(grant *Grant) {
	if !grant.fixed || g.clock.Scripted() {
		return
	}
	first := g.layout.tickAfterStart()
	if left := g.clock.Until(uint64(first)); left <= startPause {
		time.Sleep(left)
	}
	grant.from = max(grant.from, first)
}

// accept makes a grant this generator's, or gives it back and says why. It is
// to begin at the tick least or later. A grant that has been accepted before is
// whoever's it was: only they may give it back.
func (g *Generator) accept(ctx context.Context, grant *Grant, least int64) error {
	if grant == nil {
		return errors.New("snowflake: the source has granted nothing")
	}
	if !grant.used.CompareAndSwap(false, true) {
		return fmt.Errorf("snowflake: %v has been granted before, and two generators under one grant would issue the same IDs: make a new one for each call", grant)
	}
	if err := g.check(grant, least); err != nil {
		return errors.Join(err, g.source.Retire(ctx, grant, grant.unused()))
	}
	return nil
}

func (g *Generator) check(grant *Grant, least int64) error {
	if !grant.layout.Equal(g.layout) {
		return fmt.Errorf("snowflake: the source has granted %v of another layout, %v, want %v", grant, grant.layout, g.layout)
	}
	first := max(uint64(grant.from), uint64(max(0, least)), g.clock.TickAt(g.clock.Now().Logical))
	if first<<g.sequenceBits < grant.limit.Load() {
		return nil
	}
	if grant.expires() {
		return g.expired()
	}
	return fmt.Errorf("%w: %v was granted until %v, and could only begin at %v", ErrFenced, grant, grant.Until(), g.layout.timeOf(int64(first)))
}

// begin opens the grant at the current tick, or at the first that it allows
// and that is not below least. It returns the state, the slot before the first.
func (g *Generator) begin(grant *Grant, least int64) slot {
	g.clock.Lock()
	defer g.clock.Unlock()
	now := g.clock.TickAt(g.clock.Now().Logical)
	first := max(uint64(grant.from), uint64(least))
	if first > now+1 {
		g.clock.StartAt(first)
	}
	return grant.begin(g, max(first, now))
}

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
