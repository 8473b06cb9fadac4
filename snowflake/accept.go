package snowflake

import (
	"context"
	"errors"
	"fmt"
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
	if !grant.fixed || g.clock.scripted {
		return
	}
	first := g.layout.tickAfterStart()
	if left := g.clock.until(uint64(first)); left <= startPause {
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
	first := max(uint64(grant.from), uint64(max(0, least)), g.clock.tickAt(g.clock.now()))
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
	g.clock.comparing.Lock()
	defer g.clock.comparing.Unlock()
	now := g.clock.tickAt(g.clock.now())
	first := max(uint64(grant.from), uint64(least))
	if first > now+1 {
		g.clock.startAt(first)
	}
	return grant.begin(g, max(first, now))
}
