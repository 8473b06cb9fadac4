// Package clock keeps the time of a generator, and knows nothing of its IDs.
//
// A [Clock] tells logical time. It starts at the wall clock and runs with the
// monotonic clock; [Clock.Compare] holds it against the wall clock about once
// per tick. It takes a step forward at once, unless the step is larger than the
// limit: then the wall clock must first keep its new time for [Agreement]. It
// only reports a step back, and the caller decides whether logical time may
// follow it; see [Clock.Follow]. [Clock.Sleep] waits for a tick to come.
//
// # The processor's counter
//
// Reading the clock is most of what an ID costs. On Linux on x86-64, [Count]
// reads the processor's time stamp counter instead, in a third of the time. With
// it an ID in a loop takes 10 ns, and 30 ns without; one every 5, 10 or 20 µs takes
// 20 ns instead of 40; from 50 µs on there is no difference. A burst within a lag
// takes a third of the time, and an ID at the cap half the CPU (AMD EPYC, Linux, Go
// 1.26.8; docs/benchmarks.md).
//
// A count is not a time. Its rate differs between processors, two processors
// need not agree, and a virtual machine that is moved or resumed may continue
// from any other count. So a count only ever answers whether the open tick may
// be over yet: a reading of the clock says how much of the tick is left, and as
// many counts as fit into that at two nanoseconds each, slower than any
// processor counts, may pass before the clock is read again ([TickEnd]). An ID
// comes sooner than that in a program that makes one every 20 µs or more often;
// in any other it saves nothing, so it is read only in a tick that has had more
// than one call.
//
// Uniqueness and order do not depend on it. If a count were wrong, an ID could
// show a time up to 10 ms old, or, for 10 ms after a machine was suspended, the time
// before that, and nothing else. The counter is not used where
// the processor does not call it invariant, where it counts too slowly (as an
// emulator's does), in a synctest bubble, whose time is not the machine's, under
// a scripted clock, and in a build with -tags purego.
package clock
