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
// A [WorkerSource] supplies the worker ID. [Static], [FromEnv] and [FromStatefulSet]
// use a number that you assigned. A lease (package lease) takes a free worker from a
// store, and keeps it exclusive. There is no default, because numbers guessed from an
// IP or MAC address, a process ID or chance collide, and no process notices the collision.
//
// A [Generator] issues IDs. [Generator.Next] returns one ID, [Generator.Fill] a block
// of IDs, and [Generator.TryNext] returns an ID or an error at once. While the current
// tick's sequence is used up, calls wait, without holding a lock, and at most until
// their context ends. Calls fail if the wall clock has stepped back further than
// [OnClockBackwards] allows, if it has jumped further ahead than [WithMaxJump] allows
// and its new time is not believed yet, when the source's window has ended ([ErrFenced]),
// and when the layout has expired ([ErrExpired]).
//
// The time in an ID is logical time. It starts at the wall clock, runs with the
// monotonic clock, and follows a step of the wall clock forward within a second. It
// never follows a step back that could repeat or reorder an ID. The operator must keep
// worker IDs distinct, keep clocks synchronised if the times in the IDs are to be
// meaningful, and act on the warning that is logged from five years before a layout
// expires.
//
// # The way of an ID
//
// A slot is one sequence number of one tick, the place of one ID. A [Grant] is the right to
// use the slots of one worker in a window of ticks. The state of a generator is one word,
// the ID of the last slot that a call has taken. A call takes the next slots, without a lock,
// by a compare-and-swap of the state.
//
// In the common case Next takes the slot after the last slot, or begins the current tick.
// For this the generator must have compared the wall clock within the last second. In all
// other cases nextSlow calls reserve, as Fill does for a whole block. nextReservation reads
// the clock, compares it with the wall clock, applies the clock policy (stepback.go), and
// finds the first free slot. waitOrFail waits for the clock, asks the source for a longer
// window or another worker (requestSlot, in handover.go), or fails. commit takes the slots,
// and waitUntilDue waits for their tick. A slot at or above Grant.limit, the end of the
// window, is never committed, however long the process was paused. Package internal/clock
// keeps the time.
package snowflake
