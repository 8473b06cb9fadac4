// Package snowflake issues 64-bit primary keys that sort by time, are unique
// across processes and need no database round trip.
//
// Uniqueness, in one sentence: as long as no two processes hold the same
// worker number for the same tick, no ID is ever issued twice, whatever the
// machine's clock does.
//
// A [Layout] says how the bits of an ID are shared out. The default is
// Twitter's:
//
//	63                     22        17        12           0
//	+-+---------------------+----------+---------+------------+
//	|0| 41 bits of ms ticks | 5 bits   | 5 bits  | 12 bits    |
//	| | since the epoch     | datactr. | worker  | sequence   |
//	+-+---------------------+----------+---------+------------+
//
// A [WorkerSource] says who we are. [Static], [FromEnv] and [FromStatefulSet]
// take a number that somebody assigned; a lease (package lease) takes a free
// one from a store, and keeps it exclusive whatever happens. There is no
// default: numbers guessed from an IP or MAC address, a process ID or chance
// collide, and do so silently.
//
// A [Generator] issues: [Generator.Next] one ID, [Generator.Fill] a block,
// [Generator.TryNext] one ID or an error at once. Calls block while the
// current tick's sequence is used up, at most until their context ends, and
// hold no lock meanwhile. They fail when the wall clock has stepped back
// further than [OnClockBackwards] allows, while it is further ahead than
// [WithMaxJump] allows and not believed, when the source's window has ended
// ([ErrFenced]), and when the layout's time has run out ([ErrExpired]).
//
// The time in an ID is logical time: it starts at the wall clock, runs with
// the monotonic clock, follows the wall clock's steps forward at once and its
// steps back never while that could repeat or reorder an ID. What the operator
// must do: keep worker numbers distinct, keep clocks synchronised if the times
// in the IDs are to mean something, and heed the warning that is logged from
// five years before a layout expires.
package snowflake
