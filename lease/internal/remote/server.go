package remote

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/lease"
)

// A Server is what all calls of a store have in common.
type Server struct {
	Package string // of the store, for errors
	Err     error  // of New; every call returns it
}

// Call returns what f does, or why ctx has ended: see [Await]. An error says what
// was to be done.
func Call[T any](ctx context.Context, s Server, what string, f func(context.Context) (T, error)) (T, error) {
	var none T
	if s.Err != nil {
		return none, s.Err
	}
	value, err := Await(ctx, func() (T, error) { return f(ctx) })
	if err != nil {
		return none, fmt.Errorf("%s: %s: %w", s.Package, what, err)
	}
	return value, nil
}

// Swap is [lease.Store.CompareAndSwap] by a function that swaps texts of records.
func (s Server) Swap(ctx context.Context, worker int, from, to lease.Record, swap func(ctx context.Context, from, to string) (bool, error)) (bool, error) {
	if err := CheckRecords(s.Package, worker, from, to); err != nil {
		return false, err
	}
	return Call(ctx, s, fmt.Sprintf("write worker %d", worker), func(ctx context.Context) (bool, error) {
		return swap(ctx, FormatRecord(from), FormatRecord(to))
	})
}
