package leasetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
)

// brokenWindow is the window of all tortures of broken variants.
const brokenWindow = 300 * time.Millisecond

// endless is how far a window reaches that has no end.
const endless = 1000 * time.Hour

// breakers are the protocol's rules, each broken once.
func breakers() map[string]leasetest.Breaker {
	return map[string]leasetest.Breaker{
		"unbounded": leasetest.MakeBreaker(nil, remaking(func(b *brokenSource, g *snowflake.Grant) (*snowflake.Grant, error) {
			return b.grant(g, g.Until().Add(-brokenWindow), g.Until().Add(endless))
		})),
		"from-now": leasetest.MakeBreaker(nil, remaking(func(b *brokenSource, g *snowflake.Grant) (*snowflake.Grant, error) {
			return b.grant(g, b.Clock()(), g.Until())
		})),
		"ttl-only": leasetest.MakeBreaker(nil, remaking(func(b *brokenSource, g *snowflake.Grant) (*snowflake.Grant, error) {
			return b.grant(g, b.Clock()(), g.Until().Add(endless))
		})),
		"issue-after-release": leasetest.MakeBreaker(nil, remaking((*brokenSource).releasing)),
		"trust-timeout":       leasetest.MakeBreaker(func(s lease.Store) lease.Store { return &trustingStore{s} }, nil),
		"trust-read":          leasetest.MakeBreaker(func(s lease.Store) lease.Store { return &adoptingStore{s} }, nil),
		"owner-name":          leasetest.MakeBreaker(func(s lease.Store) lease.Store { return &namingStore{Store: s} }, nil),
	}
}

// quitter is a process that meets an error which must not be.
func quitter() leasetest.Breaker {
	return leasetest.MakeBreaker(nil, remaking(func(*brokenSource, *snowflake.Grant) (*snowflake.Grant, error) {
		return nil, errors.New("quits")
	}))
}

// A brokenSource gives its generator grants that are not the lease's.
type brokenSource struct {
	*lease.Lease
	remake func(*brokenSource, *snowflake.Grant) (*snowflake.Grant, error)

	mu      sync.Mutex
	genuine map[*snowflake.Grant]*snowflake.Grant
}

func remaking(remake func(*brokenSource, *snowflake.Grant) (*snowflake.Grant, error)) func(*lease.Lease) snowflake.WorkerSource {
	return func(l *lease.Lease) snowflake.WorkerSource {
		return &brokenSource{Lease: l, remake: remake, genuine: map[*snowflake.Grant]*snowflake.Grant{}}
	}
}

func (b *brokenSource) grant(g *snowflake.Grant, from, until time.Time) (*snowflake.Grant, error) {
	return snowflake.NewGrant(b.Layout(), g.Datacenter(), g.Worker(), from, until)
}

func (b *brokenSource) remade(g *snowflake.Grant) (*snowflake.Grant, error) {
	own, err := b.remake(b, g)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.genuine[own] = g
	return own, err
}

func (b *brokenSource) genuineOf(own *snowflake.Grant) *snowflake.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.genuine[own]
}

func (b *brokenSource) Grant(ctx context.Context, layout snowflake.Layout) (*snowflake.Grant, error) {
	g, err := b.Lease.Grant(ctx, layout)
	if err != nil {
		return nil, err
	}
	return b.remade(g)
}

func (b *brokenSource) Extend(ctx context.Context, held *snowflake.Grant, need time.Time) (*snowflake.Grant, error) {
	genuine := b.genuineOf(held)
	g, err := b.Lease.Extend(ctx, genuine, need)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", snowflake.ErrFenced, err) // also after a release
	case g != genuine:
		return b.remade(g)
	}
	held.Extend(g.Until())
	return held, nil
}

func (b *brokenSource) Retire(ctx context.Context, held *snowflake.Grant, last time.Time) error {
	return b.Lease.Retire(ctx, b.genuineOf(held), last)
}

// releasing gives the worker back in the middle of the window, of which all
// will be used.
func (b *brokenSource) releasing(g *snowflake.Grant) (*snowflake.Grant, error) {
	time.AfterFunc(brokenWindow/4, func() { _ = b.Lease.Retire(context.Background(), g, b.Clock()()) })
	return b.grant(g, g.Until().Add(-brokenWindow), g.Until())
}

// A trustingStore takes a write for done that was not answered.
type trustingStore struct{ lease.Store }

func (s *trustingStore) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	swapped, err := s.Store.CompareAndSwap(ctx, worker, old, to)
	return swapped || err != nil, nil
}

// An adoptingStore takes a write for done that was not answered, and that it sees.
type adoptingStore struct{ lease.Store }

func (s *adoptingStore) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	swapped, err := s.Store.CompareAndSwap(ctx, worker, old, to)
	if swapped || ctx.Err() != nil {
		return swapped, err
	}
	if records, loadErr := s.Load(ctx); loadErr == nil && records[worker] == to {
		return true, nil
	}
	return swapped, err
}

// A namingStore writes a fixed name for every token: the processes of one host
// take each other's records for their own.
type namingStore struct {
	lease.Store
	mu    sync.Mutex
	token string
}

const hostName = "host"

func (s *namingStore) named(r lease.Record) lease.Record {
	if r.Owner != "" {
		r.Owner = hostName
	}
	return r
}

func (s *namingStore) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	if worker < 0 {
		return s.Store.CompareAndSwap(ctx, worker, old, to)
	}
	if to.Owner != "" {
		s.mu.Lock()
		s.token = to.Owner
		s.mu.Unlock()
	}
	if records, err := s.Store.Load(ctx); err == nil && records[worker].Owner == hostName {
		old = records[worker] // ours, by its name
	}
	return s.Store.CompareAndSwap(ctx, worker, s.named(old), s.named(to))
}

func (s *namingStore) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, err := s.Store.Load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for worker, r := range records {
		if r.Owner == hostName && s.token != "" {
			r.Owner = s.token
			records[worker] = r
		}
	}
	return records, err
}
