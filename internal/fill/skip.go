package fill

import "context"

type skipKey struct{}

// Skip returns a context under which [Create] and [BeforeInsert] do nothing.
func Skip(ctx context.Context) context.Context {
	return context.WithValue(ctx, skipKey{}, true)
}

func skipped(ctx context.Context) bool {
	return ctx.Value(skipKey{}) != nil
}
