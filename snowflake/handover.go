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

// maxStartSleep is the longest time that New sleeps for a fixed worker; see skipStartTick.
const maxStartSleep = 20 * time.Millisecond

// openFirst gets the first grant from the source, sets the clock policy, whose default depends
// on the grant, and begins the grant. The grant may begin at any tick from 0 on, because this
// generator has issued no ID yet.
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
	if err := c.setPolicy(grant); err != nil {
		// No ID was issued, so the last tick in use is the tick before the window.
		return errors.Join(err, g.source.Retire(ctx, grant, grant.tickBefore()))
	}
	g.policy = *c.policy
	g.openGrant(grant, 0)
	return nil
}

// skipStartTick makes a fixed worker start after the tick in which this process was started,
// because the previous process may have issued IDs in that tick. It sleeps until the tick is
// over if that takes at most maxStartSleep, so that the first TryNext of a program finds a
// slot. It does nothing under a lease, whose store knows where the previous process ended, or
// under WithClock, as WithClock documents.
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

// tickAfterStart returns the tick after the one in which this process was started, if that
// tick is not over yet. It is the first tick that a previous process under the same fixed
// worker cannot have used. If the tick of the start is over, tickAfterStart returns zero,
// because the generator can then begin in the current tick.
func (l Layout) tickAfterStart() int64 {
	if tick := l.tickOf(processStart); tick == l.tickOf(time.Now()) {
		return tick + 1
	}
	return 0
}

// accept checks that this generator can begin under a grant that the source has returned, and
// marks the grant as accepted, so that no second generator uses it. least is the first tick
// that this generator has not used yet. If the grant cannot be used, accept retires it and
// returns an error. It does not retire a grant that was accepted before, because only the
// generator that has accepted a grant may retire the grant.
func (g *Generator) accept(ctx context.Context, grant *Grant, least int64) error {
	if grant == nil {
		return errors.New("snowflake: the source has granted nothing")
	}
	if !grant.accepted.CompareAndSwap(false, true) {
		return fmt.Errorf("snowflake: %v has been granted before, and two generators under one grant would issue the same IDs: make a new one for each call", grant)
	}
	if err := g.checkGrant(grant, least); err != nil {
		// No ID was issued, so the last tick in use is the tick before the window.
		return errors.Join(err, g.source.Retire(ctx, grant, grant.tickBefore()))
	}
	return nil
}

// checkGrant returns an error if the grant is of another layout, or if its window ends before
// the generator can begin. The generator can begin in the current tick, but not before the
// window, and not before least.
func (g *Generator) checkGrant(grant *Grant, least int64) error {
	if !grant.layout.Equal(g.layout) {
		return fmt.Errorf("snowflake: the source has granted %v of another layout, %v: want %v", grant, grant.layout, g.layout)
	}
	now := g.clock.TickAt(g.clock.Now().Logical)
	first := max(uint64(grant.firstTick), uint64(least), now) // the tick in which the generator would begin
	if first<<g.sequenceBits < grant.limit.Load() {
		return nil
	}
	if grant.endsWithLayout() {
		return g.expiredError()
	}
	return fmt.Errorf("%w: %v was granted until %v, and could only begin at %v", ErrFenced, grant, grant.Until(), g.layout.timeOf(int64(first)))
}

// openGrant begins the grant at the current tick, or later if the window begins later or least
// is later. The slots up to that tick count as skipped, because Stats computes the number of
// IDs as the last slot minus the skipped slots.
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

// requestSlot asks the source for a window that contains the slot need. The source extends the
// grant held, or returns another grant, under which the generator then continues. At the
// layout's end requestSlot does not ask the source, and returns an error. Close ends the request.
func (g *Generator) requestSlot(ctx context.Context, held *Grant, need slot) error {
	if held.endsWithLayout() {
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

// askSource calls the source's Extend, unless another call has got the window or another grant
// in the meantime. It holds grantLock during the call, so that one call asks the source and the
// other calls wait for its result.
func (g *Generator) askSource(ctx context.Context, held *Grant, need slot) error {
	if err := g.lockGrant(ctx); err != nil {
		return fmt.Errorf("%w, and the source has not answered: %w", ErrFenced, err)
	}
	defer g.unlockGrant()
	switch {
	case g.closing.Load():
		return ErrClosed
	case g.grant.Load() != held || need < held.limit.Load():
		return nil // another call has already got another grant or a longer window
	}
	next, err := g.source.Extend(ctx, held, held.timeOf(need))
	switch {
	case err != nil:
		return err
	case next != held:
		return g.replaceGrant(context.WithoutCancel(ctx), held, next) // retires held even if ctx has ended
	case need >= held.limit.Load(): // the source has not extended the window far enough
		return held.fencedError()
	}
	return nil
}

// replaceGrant continues under the grant next, above the last slot of old, and retires old.
// If next cannot be used, it retires next and keeps old. The error then wraps ErrFenced,
// because old has no slot left, or ErrExpired. The caller holds grantLock.
func (g *Generator) replaceGrant(ctx context.Context, old, next *Grant) error {
	if err := g.accept(ctx, next, old.tickOf(g.last())+1); err != nil {
		if errors.Is(err, ErrFenced) || errors.Is(err, ErrExpired) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	last, ok := g.swapGrants(old, next)
	if !ok { // Close has begun
		return errors.Join(ErrClosed, g.source.Retire(ctx, next, next.tickBefore()))
	}
	if err := g.source.Retire(ctx, old, old.timeOf(last)); err != nil {
		slog.Warn("snowflake: a replaced worker could not be released", "worker", old.String(), "error", err)
	}
	return nil
}

// swapGrants replaces the grant old by next, and returns the last slot of old. ok is false if the
// generator is closing, and the grant is then unchanged. swapGrants retires old first, because
// calls can take slots until then, and next begins in the tick after the last of these slots.
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

// lockGrant takes grantLock, which a call holds while it asks the source and changes the grant.
// It returns an error if ctx ends first. The lock is a channel and not a mutex, so that a call
// can stop waiting while another call holds the lock. If the lock is free, the first select
// takes it even if ctx has ended. The second select alone would then choose at random.
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
