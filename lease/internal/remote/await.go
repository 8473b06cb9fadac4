// Package remote is what the stores have in common, most of it those on servers of
// their own.
package remote

import "context"

// Await returns when call or ctx ends, for clients that know no contexts or wait
// for their own timeouts instead, or do not pass on why it has ended. The call
// continues in the background.
func Await[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	results := make(chan result, 1)
	go func() {
		value, err := call()
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		if r.err == nil || ctx.Err() == nil {
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	return none, context.Cause(ctx)
}
