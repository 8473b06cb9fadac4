package snowflake

import "errors"

// Sentinel errors, for [errors.Is]. The errors returned wrap them; details are in
// the message.
var (
	// ErrClockBackwards: the wall clock is further behind the generator's
	// time than [OnClockBackwards] allows. It is transient: it ends when the
	// wall clock has overtaken the last ID issued.
	ErrClockBackwards = errors.New("snowflake: clock went backwards")

	// ErrClockJumped: the wall clock has jumped further ahead than
	// [WithMaxJump] allows, and the time it shows is not believed yet. It is
	// transient: it ends when the clock is back within the limit, or has kept
	// its new time for a minute.
	ErrClockJumped = errors.New("snowflake: the clock jumped")

	// ErrSequenceExhausted: every sequence number up to the current tick is
	// taken. Only [Generator.TryNext] returns it; the others wait.
	ErrSequenceExhausted = errors.New("snowflake: sequence exhausted")

	// ErrExpired: the layout's last tick has passed. It is permanent: move to a
	// layout with more time bits, a longer tick or a later epoch, whose IDs are
	// all above the old ones.
	ErrExpired = errors.New("snowflake: layout expired")

	// ErrFenced: the window of ticks that the source granted has ended and
	// could not be extended, or the source has revoked it: another process
	// may be issuing under this worker by now.
	ErrFenced = errors.New("snowflake: worker's window has ended")

	// ErrWorkerInUse: this process already has a live generator for the same
	// fixed worker of the same layout. Share that one, or close it first.
	ErrWorkerInUse = errors.New("snowflake: worker in use")

	// ErrClosed: the generator has been closed.
	ErrClosed = errors.New("snowflake: generator closed")
)
