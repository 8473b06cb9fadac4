package sqllease

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/lease"
)

var (
	_ lease.Getter = (*store)(nil)
	_ lease.Queue  = pooled{}
)

const (
	// manyKeys is enough for the keys that a claim reads at once.
	manyKeys = 40

	// maxTurns is how many claims of a process work at once. More do not get more
	// done, and take each other's time.
	maxTurns = 16
)

// Get implements [lease.Getter].
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	r, err := s.read(ctx, keys)
	if err != nil || !r.clock.Valid {
		return r.records, time.Time{}, err
	}
	return r.records, time.UnixMicro(r.clock.Int64), nil
}

// selection is the statement that reads these keys, or all. Drivers keep
// statements by their text, so there are few: the last key stands in several
// places.
func (s *store) selection(known *statements, keys []int) (statement string, args []any) {
	args = []any{s.namespace}
	switch {
	case len(keys) == 0:
		return known.load, args
	case s.dialect.get != "":
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(keys), "[]"), " ", ",")
		return known.get, append(args, list)
	}
	places := len(keys)
	if places > 2 {
		places = (places + manyKeys - 1) / manyKeys * manyKeys
	}
	for i := range places {
		args = append(args, keys[min(i, len(keys)-1)])
	}
	return known.load + " AND worker_id IN (?" + strings.Repeat(", ?", places-1) + ")", args
}

// Enter implements [lease.Queue]. Go serves those that wait for a channel in their
// order.
func (s pooled) Enter(ctx context.Context) (leave func(), err error) {
	s.opening.Do(func() { s.turns = make(chan struct{}, s.maxTurns()) })
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("sqllease: waiting for the turn of a claim: %w", context.Cause(ctx))
	}
}

func (s pooled) maxTurns() int {
	if s.dialect.now == "" {
		return 1 // SQLite has one writer
	}
	if n := s.pool.Stats().MaxOpenConnections; n > 0 {
		return min(n, maxTurns)
	}
	return maxTurns
}
