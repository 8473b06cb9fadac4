// Package snowflake issues 64-bit primary keys that sort by time, are unique
// across processes and need no database round trip.
//
// Uniqueness, in one sentence: as long as no two processes hold the same
// worker ID for the same tick, no ID is ever issued twice, whatever the machine's
// clock does.
//
// A [Layout] divides an ID into bit fields. The default is Twitter's:
//
//	63                     22        17        12           0
//	+-+---------------------+----------+---------+------------+
//	|0| 41 bits of ms ticks | 5 bits   | 5 bits  | 12 bits    |
//	| | since the epoch     | datactr. | worker  | sequence   |
//	+-+---------------------+----------+---------+------------+
//
// A [WorkerSource] supplies the worker ID. [Static], [FromEnv] and
// [FromStatefulSet] use a number that you assigned; a lease (package lease) takes
// a free one from a store, and keeps it exclusive whatever happens. There is no
// default: numbers guessed from an IP or MAC address, a process ID or chance
// collide, and do so silently.
//
// A [Generator] issues IDs: [Generator.Next] one, [Generator.Fill] a block,
// [Generator.TryNext] one or an error at once. While the current tick's sequence
// is used up, calls block, at most until their context ends, and hold no lock.
// They fail when the wall clock has stepped back further than [OnClockBackwards]
// allows, while it is further ahead than [WithMaxJump] allows and not yet
// believed, when the source's window has ended ([ErrFenced]), and when the layout
// has expired ([ErrExpired]).
//
// The time in an ID is logical time: it starts at the wall clock, runs with the
// monotonic clock, and follows a step of the wall clock forward within a second. It never
// follows a step back that could repeat or reorder an ID. The operator must keep
// worker IDs distinct, keep clocks synchronised if the times in the IDs are to
// mean something, and heed the warning that is logged from five years before a
// layout expires.
//
// # The way of an ID
//
// The state of a generator is one word, the last ID. Next issues the ID after it, or the
// first one of the present tick, if the wall clock has been compared within a second and
// nothing else is out of the ordinary. Otherwise nextSlow calls reserve, as Fill does for
// a whole block. nextReservation reads the clock, compares it with the wall clock, applies
// the clock policy (stepback.go), and finds the first free slot. waitOrFail waits for the
// clock, asks the source for a longer window or another worker (requestSlot, in
// handover.go), or fails. commit moves the state with one compare-and-swap, and
// waitUntilDue waits for the slot's tick. No slot at or above Grant.limit is committed,
// however long the process was paused. Package internal/clock keeps the time.
package snowflake
