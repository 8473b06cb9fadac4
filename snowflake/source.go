package snowflake

import (
	"context"
	"time"
)

// A WorkerSource supplies the worker under which a [Generator] issues, and the window
// of ticks. [Static], [FromEnv] and [FromStatefulSet] return sources of fixed workers.
// A lease of package lease is a source that leases a free worker from a store.
//
// A source must never let two grants of one worker overlap in a tick, in any process.
// The uniqueness of IDs depends on this alone, and nothing else ensures it. A generator
// calls Grant once and the other methods one at a time, except that Retire may run
// while Extend is still waiting. The generator rejects a grant that is nil, made for
// another layout, used before, revoked, or past its window.
//
// A source calls [Grant.Revoke] when it learns that another process may hold the
// worker. The generator then calls Extend, as at the end of a window, and retires the
// revoked grant once it has another grant.
//
// A source may have a method Health() error, which must not wait. [Generator.Health]
// then relies on it to report whether the source has a window.
type WorkerSource interface {
	// Layout returns the layout that the source's workers belong to. If it returns the
	// zero Layout, [WithLayout] decides.
	Layout() Layout

	// Clock returns the wall clock that the source measures its windows with. If it
	// returns nil, [WithClock] decides.
	Clock() func() time.Time

	// Grant returns a worker and a window of ticks, made by [NewGrant] for this layout
	// and for this call. The source should extend the window on its own, ahead of need,
	// by [Grant.Extend]. Otherwise [Generator.TryNext], which never asks the source,
	// returns [ErrFenced] at the end of a window until another call asks.
	Grant(ctx context.Context, layout Layout) (*Grant, error)

	// Extend is called when the window of held has ended before the tick that starts at
	// need, or when held has been revoked and the next slot would be in that tick. It
	// returns held, with its window extended, or another grant whose window reaches
	// beyond both need and the present. The generator then continues under that grant,
	// in a later tick, and retires held. A revoked grant cannot be extended. An error
	// is returned to the caller of the generator and should wrap [ErrFenced]; the next
	// call asks again. Extend must return when ctx ends, as it does when
	// [Generator.Close] begins.
	Extend(ctx context.Context, held *Grant, need time.Time) (*Grant, error)

	// Retire is called once for every grant, when no more IDs will be issued under it.
	// last is the start of the last tick in which an ID may have been issued, even if the
	// grant was revoked. If no ID was issued, last is the start of the tick before the tick
	// in which the generator began. For a rejected grant, last is the start of the tick
	// before its window. A grant that was rejected because it was used before is not retired
	// again.
	Retire(ctx context.Context, held *Grant, last time.Time) error
}
