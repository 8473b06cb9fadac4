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

// maxTurns is how many claims of a process work at once. More do not get more
// done, and take each other's time.
const maxTurns = 16

// Get implements [lease.Getter].
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	r, err := s.read(ctx, keys)
	if err != nil || !r.clock.Valid {
		return r.records, time.Time{}, err
	}
	return r.records, time.UnixMicro(r.clock.Int64), nil
}

// selection is the statement that reads these keys, or all. The limit is in place of
// the session's, which MySQL has too.
func (s *store) selection(t table, keys []int) (statement string, args []any) {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(keys), "[]"), " ", ",")
	statement, args = s.dialect.reads(loadSQL, t), []any{s.namespace}
	switch {
	case len(keys) == 0:
	case s.dialect.get == "":
		statement += " AND worker_id IN (" + list + ")"
	default:
		statement, args = s.dialect.reads(s.dialect.get, t), append(args, list)
	}
	return statement + " LIMIT 9223372036854775807", args
}

// Enter implements [lease.Queue]. Go serves those that wait for a channel in their
// order.
func (s pooled) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("sqllease: waiting for the turn of a claim: %w", context.Cause(ctx))
	}
}
