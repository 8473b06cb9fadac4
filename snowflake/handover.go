package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// This file gives a generator its grants, each of which is a worker for a window of ticks.
// openFirst takes the first grant. At the end of a window requestSlot asks the source,
// which extends the grant or returns another grant. In the latter case replaceGrant
// continues under the new grant.

// maxStartSleep is the longest time that New sleeps.
const maxStartSleep = 20 * time.Millisecond

// openFirst gets the first grant from the source and opens it. The grant may begin at any
// tick from 0 on, because this generator has issued no ID yet.
func (g *Generator) openFirst(c config) error {
	ctx := context.Background()
	grant, err := g.source.Grant(ctx, g.layout)
	if err != nil {
		return err
	}
	if grant != nil { // accept rejects nil
		g.skipStartTick(grant)
	}
	if err := g.accept(ctx, grant, 0); err != nil {
		return err
	}
	if err := c.setDefaults(grant); err != nil {
		return errors.Join(err, g.source.Retire(ctx, grant, grant.tickBefore()))
	}
	g.policy = *c.policy
	g.openGrant(grant, 0)
	return nil
}

// skipStartTick makes a fixed worker start after the tick in which the process was
// started. It sleeps until that tick is over if that takes at most maxStartSleep, so
// that the first TryNext of a program finds a slot. It does nothing under a lease, whose
// store knows where the previous process ended, or under WithClock, as WithClock documents.
func (g *Generator) skipStartTick(grant *Grant) {
	if !grant.fixed || g.clock.Scripted {
		return
	}
	first := g.layout.tickAfterStart()
	if untilFirst := g.clock.Until(uint64(first)); untilFirst <= maxStartSleep {
		time.Sleep(untilFirst)
	}
	grant.firstTick = max(grant.firstTick, first)
}

// processStart is the start time of this process.
var processStart = time.Now()

// tickAfterStart returns the first tick that a previous process under the same fixed
// worker cannot have used, or zero if the tick in which this process was started is
// over.
func (l Layout) tickAfterStart() int64 {
	if tick := l.tickOf(processStart); tick == l.tickOf(time.Now()) {
		return tick + 1
	}
	return 0
}

// accept checks that this generator can begin under a grant, at the tick least or later,
// and marks the grant as accepted. If the grant cannot be used, accept retires it and
// returns an error. It does not retire a grant that was accepted before, because only the
// generator that has accepted it may do that.
func (g *Generator) accept(ctx context.Context, grant *Grant, least int64) error {
	if grant == nil {
		return errors.New("snowflake: the source has granted nothing")
	}
	if !grant.accepted.CompareAndSwap(false, true) {
		return fmt.Errorf("snowflake: %v has been granted before, and two generators under one grant would issue the same IDs: make a new one for each call", grant)
	}
	if err := g.checkGrant(grant, least); err != nil {
		return errors.Join(err, g.source.Retire(ctx, grant, grant.tickBefore()))
	}
	return nil
}

// checkGrant returns an error if the grant is of another layout, or has no tick at or after
// least and the present.
func (g *Generator) checkGrant(grant *Grant, least int64) error {
	if !grant.layout.Equal(g.layout) {
		return fmt.Errorf("snowflake: the source has granted %v of another layout, %v: want %v", grant, grant.layout, g.layout)
	}
	first := max(uint64(grant.firstTick), uint64(least), g.clock.TickAt(g.clock.Now().Logical))
	if first<<g.sequenceBits < grant.limit.Load() {
		return nil
	}
	if grant.expires() {
		return g.expiredError()
	}
	return fmt.Errorf("%w: %v was granted until %v, and could only begin at %v", ErrFenced, grant, grant.Until(), g.layout.timeOf(int64(first)))
}

// openGrant begins the grant at the current tick, or at the first tick that the grant
// allows and that is not below least. The slots up to that tick count as skipped, because
// Stats computes the number of IDs as the last slot minus the skipped slots.
//
// If the grant begins in the next tick, calls wait for that tick. If it begins later, as
// after a step back of the clock, logical time moves to the beginning at once and is then
// ahead of the wall clock.
func (g *Generator) openGrant(grant *Grant, least int64) {
	g.clock.Lock()
	defer g.clock.Unlock()
	now := g.clock.TickAt(g.clock.Now().Logical)
	first := max(uint64(grant.firstTick), uint64(least))
	if first > now+1 {
		g.clock.StartAt(first)
	}
	first = max(first, now)
	g.skipped.Add(int64(first<<g.sequenceBits - 1 - grant.slotOf(g.state.Load())))
	grant.begin(g, first)
}

// requestSlot asks the source for a window that contains the slot, of this grant or of
// another grant.
func (g *Generator) requestSlot(ctx context.Context, held *Grant, need slot) error {
	if held.expires() {
		return g.expiredError()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(ErrClosed) })() // Close ends the call of the source
	err := g.askSource(ctx, held, need)
	if err != nil && g.closing.Load() && !errors.Is(err, ErrClosed) {
		return ErrClosed // instead of the source's error for the ended context
	}
	return err
}

// askSource calls the source, unless another call has got the window or the grant in the
// meantime. It holds the lock of the grant during the call, so that the source is asked
// once for all calls.
func (g *Generator) askSource(ctx context.Context, held *Grant, need slot) error {
	if err := g.lockGrant(ctx); err != nil {
		return fmt.Errorf("%w, and the source has not answered: %w", ErrFenced, err)
	}
	defer g.unlockGrant()
	switch {
	case g.closing.Load():
		return ErrClosed
	case g.grant.Load() != held || need < held.limit.Load():
		return nil // another call has already done it
	}
	next, err := g.source.Extend(ctx, held, held.timeOf(need))
	switch {
	case err != nil:
		return err
	case next != held:
		return g.replaceGrant(context.WithoutCancel(ctx), held, next) // old must be retired even if the caller has gone
	case need >= held.limit.Load():
		return held.fencedError()
	}
	return nil
}

// replaceGrant continues under the grant next, above the last slot of old, and retires old.
// If next cannot be used, it retires next and keeps old. The error then wraps ErrFenced,
// because old has no slot left, or ErrExpired. The caller holds the lock of the grant.
func (g *Generator) replaceGrant(ctx context.Context, old, next *Grant) error {
	if err := g.accept(ctx, next, old.tickOf(g.last())+1); err != nil {
		if errors.Is(err, ErrFenced) || errors.Is(err, ErrExpired) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	last, ok := g.swapGrants(old, next)
	if !ok {
		return errors.Join(ErrClosed, g.source.Retire(ctx, next, next.tickBefore()))
	}
	if err := g.source.Retire(ctx, old, old.timeOf(last)); err != nil {
		slog.Warn("snowflake: a replaced worker could not be released", "worker", old.String(), "error", err)
	}
	return nil
}

// swapGrants replaces the grant old by next, unless the generator is closing. It
// retires old first, because the last slot of old is known only then.
func (g *Generator) swapGrants(old, next *Grant) (last slot, ok bool) {
	g.handover.Lock()
	defer g.handover.Unlock()
	if g.closing.Load() {
		return 0, false
	}
	last = old.retire()
	g.openGrant(next, old.tickOf(last)+1)
	return last, true
}

// lockGrant locks the right to ask the source and to change the grant. The lock is a
// channel, so that a call can stop waiting while another call waits for the source. If the
// lock is free, the first select takes it even if ctx has ended, because a select with two
// ready cases chooses at random.
func (g *Generator) lockGrant(ctx context.Context) error {
	select {
	case g.grantLock <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.grantLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// unlockGrant releases the lock that lockGrant has taken.
func (g *Generator) unlockGrant() { <-g.grantLock }
