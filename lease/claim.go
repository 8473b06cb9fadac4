package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// brief is how long claim waits by itself for a worker that was given
	// back a moment ago.
	brief = time.Second

	// maxUnknown is how many writes of unknown outcome a claim sees before it
	// gives up.
	maxUnknown = 3

	// maxCollisions is where the pause after a collision stops growing.
	maxCollisions = 100
)

// A claim is one attempt to take a worker. All its writes carry one token, so
// that one which landed unnoticed is found again.
type claim struct {
	*Lease
	owner      string
	tried      map[int]int64 // the highest bound at which each worker was tried
	collisions int           // writes that were refused
	unknown    int           // writes without an answer
	rule       aheadRule
}

// claim takes a worker, and settles.
func (l *Lease) claim(ctx context.Context, rule aheadRule) (*holding, error) {
	for {
		h, err := l.pick(ctx, rule)
		if err != nil || l.settle == 0 {
			return h, err
		}
		settled, err := l.settled(ctx, h)
		if settled || err != nil {
			return h, err
		}
	}
}

// settled waits, and reports whether the worker is still ours after it. Bounds
// are rounded up, so that a forgotten one may be a little more than a window
// away.
func (l *Lease) settled(ctx context.Context, h *holding) (bool, error) {
	err := sleep(ctx, l.settle+l.layout.Tick+time.Millisecond)
	for try := 0; err == nil; try++ {
		extendErr := l.extend(ctx, h, 0)
		if extendErr == nil {
			return !h.lost, nil
		}
		if err = sleep(ctx, lastRetry); err == nil && try == maxUnknown {
			err = extendErr
		}
	}
	return false, errors.Join(err, l.giveBack(context.WithoutCancel(ctx), h, h.from))
}

func (l *Lease) pick(ctx context.Context, rule aheadRule) (*holding, error) {
	c := &claim{Lease: l, owner: newToken(l.window).owner(), tried: map[int]int64{}, rule: rule}
	for {
		h, err := c.attempt(ctx)
		if h != nil || err != nil {
			return h, err
		}
	}
}

// attempt returns neither a holding nor an error if it is to be tried again.
func (c *claim) attempt(ctx context.Context) (*holding, error) {
	records, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.agree(ctx, records[layoutKey]); err != nil {
		return nil, err
	}
	for key := range c.tried {
		if r := records[key]; r.Owner == c.owner {
			return c.holding(key, r), nil
		}
	}
	now, err := c.clockCheck.read(c.now())
	if err != nil {
		return nil, fmt.Errorf("lease: taking a worker: %w", err)
	}
	found, err := c.choose(records, now, c.collisions > 0, c.rule)
	if err != nil {
		return nil, waitBriefly(ctx, err)
	}
	return c.take(ctx, found, now)
}

func (c *claim) take(ctx context.Context, found candidate, now int64) (*holding, error) {
	c.tried[found.key] = max(c.tried[found.key], found.record.Bound)
	r := Record{c.bound(max(now+c.settle.Milliseconds(), found.record.Bound)), c.owner}
	ok, err := c.swap(ctx, found.key, found.record, r)
	switch {
	case ok:
		return c.holding(found.key, r), nil
	case err == nil:
		return nil, c.standBack(ctx)
	}
	if c.unknown++; c.unknown == maxUnknown || ctx.Err() != nil {
		return nil, fmt.Errorf("lease: taking a worker: %w", err)
	}
	return nil, nil
}

// standBack lets others pass, a millisecond longer at most with every
// collision: a store that reads from a replica lets none of them succeed.
func (c *claim) standBack(ctx context.Context) error {
	c.collisions++
	return sleep(ctx, rand.N(time.Duration(min(c.collisions, maxCollisions))*time.Millisecond))
}

func (c *claim) holding(key int, r Record) *holding {
	datacenter, worker := c.numbers(key)
	return &holding{key: key, datacenter: datacenter, worker: worker, from: c.tried[key], taken: c.now(), known: r, tried: r.Bound}
}

// waitBriefly waits for a worker that nobody holds, and that the clock is about
// to reach.
func waitBriefly(ctx context.Context, err error) error {
	var none *NoFreeWorkerError
	if errors.As(err, &none) && none.Wait <= brief && none.Holders[0].Owner == "" {
		return sleep(ctx, none.Wait)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
