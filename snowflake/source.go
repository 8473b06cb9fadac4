package snowflake

import (
	"context"
	"time"
)

// A WorkerSource says under which worker a [Generator] issues, and until when.
// [Static], [FromEnv] and [FromStatefulSet] make sources of fixed numbers;
// package lease makes one that takes a free number from a store.
//
// A source must never let two grants of one worker overlap in a tick, in any
// process: that is all that uniqueness needs, and nothing else ensures it.
// A generator calls Grant once and the other methods one at a time, except
// that Retire may run while Extend is still waiting. It refuses a grant that is
// nil, made for another layout, used before, revoked, or already over.
//
// A source that learns that a worker may no longer be its own calls
// [Grant.Revoke]. The generator then calls Extend, as at the end of a window, and
// retires the revoked grant once it has another one.
type WorkerSource interface {
	// Layout is the layout that the source's worker numbers belong to. The
	// zero Layout leaves the choice to [WithLayout].
	Layout() Layout

	// Clock is the wall clock that the source measures its windows with. Nil
	// leaves the choice to [WithClock].
	Clock() func() time.Time

	// Grant returns a worker and a window of ticks, made by [NewGrant] for
	// this layout and for this call. The source should extend the window on
	// its own, ahead of need, by [Grant.Extend]: [Generator.TryNext] never
	// asks for more, and a source that extends only when asked leaves it with
	// [ErrFenced] until another call asks.
	Grant(ctx context.Context, layout Layout) (*Grant, error)

	// Extend is called when the window of held has ended before the tick
	// that starts at need, or held has been revoked and the next slot would be
	// in that tick. It returns held, with its window extended, or
	// another grant, whose window reaches beyond both need and the present,
	// and under which the generator goes on in a later tick; held is then
	// retired. A revoked grant cannot be extended. An error is returned to the caller of the generator and should
	// wrap [ErrFenced]; the next call asks again. It must return when ctx
	// ends, which [Generator.Close] brings about too.
	Extend(ctx context.Context, held *Grant, need time.Time) (*Grant, error)

	// Retire is called once for every grant, when nothing more will be
	// issued under it. The last tick that may have been issued starts at
	// last, also where the grant was revoked. Where nothing was, that is the tick before the one in which the
	// generator began, and for a grant that it refused the tick before the
	// window. A grant refused because it was used before is not retired
	// again.
	Retire(ctx context.Context, held *Grant, last time.Time) error
}
