package snowflake

import (
	"context"
	"errors"
	"fmt"
)

// Sentinel errors, for [errors.Is]. The returned errors wrap them, and have the details
// in their messages.
var (
	// ErrClockBackwards means that the wall clock is further behind the generator's
	// time than [OnClockBackwards] allows. It is transient: it ends when the wall clock
	// has overtaken the last ID issued.
	ErrClockBackwards = errors.New("snowflake: clock went backwards")

	// ErrClockJumped means that the wall clock has jumped further ahead than
	// [WithMaxJump] allows, and that its new time is not believed yet. It is transient:
	// it ends when the clock is back within the limit, or has kept its new time for a
	// minute.
	ErrClockJumped = errors.New("snowflake: the clock jumped")

	// ErrSequenceExhausted means that every sequence number up to the current tick is
	// taken. Only [Generator.TryNext] returns it; the other methods wait.
	ErrSequenceExhausted = errors.New("snowflake: sequence exhausted")

	// ErrExpired means that the layout's last tick has passed. It is permanent: move to
	// a layout with more time bits, a longer tick or a later epoch, whose IDs are all
	// above the old IDs.
	ErrExpired = errors.New("snowflake: layout expired")

	// ErrFenced means that the window of ticks that the source granted has ended and
	// could not be extended, or that the source has revoked it. Another process may
	// already be issuing under this worker.
	ErrFenced = errors.New("snowflake: worker's window has ended")

	// ErrWorkerInUse means that this process already has a live generator for the same
	// fixed worker of the same layout. Share that generator, or close it first.
	ErrWorkerInUse = errors.New("snowflake: worker in use")

	// ErrClosed means that the generator has been closed.
	ErrClosed = errors.New("snowflake: generator closed")
)

// contextError returns the error of a context that has ended. If the context was cancelled with
// a cause, such as ErrClosed, the error wraps the cause too.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
