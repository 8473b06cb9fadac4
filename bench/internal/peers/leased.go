package peers

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// leased is ours under a worker that is leased, from a store that costs nothing:
// what is measured is the generator's own check of the end of its window.
func leased() (func(int) error, error) {
	l, err := lease.Acquire(context.Background(), &memory{records: map[int]lease.Record{}},
		snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	return nexts(l)
}

// memory is a [lease.Store] for one process.
type memory struct {
	mu      sync.Mutex
	records map[int]lease.Record
}

func (m *memory) Load(context.Context) (map[int]lease.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records), nil
}

func (m *memory) CompareAndSwap(_ context.Context, worker int, from, to lease.Record) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records[worker] != from {
		return false, nil
	}
	m.records[worker] = to
	return true, nil
}
