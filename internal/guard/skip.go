package guard

import "context"

type skipKey struct{}

// Skip returns a context under which neither the plugin nor this package touches
// a create.
func Skip(ctx context.Context) context.Context {
	return context.WithValue(ctx, skipKey{}, true)
}

// Skipped reports whether ctx is from [Skip].
func Skipped(ctx context.Context) bool { return ctx.Value(skipKey{}) != nil }
