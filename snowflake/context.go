package snowflake

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sleep lets d pass, or some of it, unless ctx ends first.
func (g *Generator) sleep(ctx context.Context, d time.Duration) error {
	if g.clock.Sleep(ctx, d) != nil {
		return waiting(ctx)
	}
	return nil
}

// waiting is the error of a call whose context has ended.
func waiting(ctx context.Context) error {
	return fmt.Errorf("snowflake: waiting for the clock: %w", reason(ctx))
}

// reason is why the context has ended: its error, and the cause if it has one.
func reason(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
