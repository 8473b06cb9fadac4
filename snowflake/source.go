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
// that Retire may run while Extend is still waiting.
type WorkerSource interface {
	// Layout is the layout that the source's worker numbers belong to. The
	// zero Layout leaves the choice to [WithLayout].
	Layout() Layout

	// Clock is the wall clock that the source measures its windows with. Nil
	// leaves the choice to [WithClock].
	Clock() func() time.Time

	// Grant returns a worker and a window of ticks, made by [NewGrant] for
	// this layout. The source may extend the window on its own, ahead of
	// need, by [Grant.Extend].
	Grant(ctx context.Context, layout Layout) (*Grant, error)

	// Extend is called when the window of held has ended before the tick
	// that starts at need. It returns held, with its window extended, or
	// another grant, under which the generator goes on in a later tick; held
	// is then retired. An error is returned to the caller of the generator
	// and should wrap [ErrFenced]; the next call asks again.
	Extend(ctx context.Context, held *Grant, need time.Time) (*Grant, error)

	// Retire is called once for every grant, when nothing more will be
	// issued under it. The last tick issued starts at last; it lies before
	// the window where nothing was issued.
	Retire(ctx context.Context, held *Grant, last time.Time) error
}
