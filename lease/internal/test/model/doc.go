// Package model is the specification of package lease: its protocol, at a size
// at which everything that can happen can be tried. [Check] visits every state
// that a few processes, workers and ticks can get into, and searches for a tick
// of one worker that is issued twice.
//
// # The store
//
// The store has one record per worker: a bound, the token of the grant that
// owns the worker, a mark that it was released, and a version. The version
// stands for the counter in the token: it makes every record that is written
// differ from all others, so that a write changes something even where the
// bound stays.
//
// A write compares and swaps. Once it has landed it is visible: everybody reads
// it, and the next write is compared with it. It is durable later, and it is
// acknowledged only when it is durable. One log orders all writes, so that an
// acknowledged write makes those before it durable. A crash forgets the
// end of the log, but nothing up to the last acknowledgement; what it forgets is
// never answered. When a write becomes durable is decided as late as it shows:
// by its acknowledgement, by a crash that it survives, or by a log that is full.
//
// A write may get lost, or its answer, and it may land after its sender has
// stopped waiting and even has died.
//
// # The processes
//
// Clocks show anything at any time, so a process may claim any worker, and a
// window may have any length. A process may pause or die between any two steps.
// It has one grant. A lease has several, one after the other, and two at once where
// it claims a worker before it has released one that its generator refused: each is
// a process here, as each has a token of its own.
//
//   - It claims a worker under a fresh token: it reads the record, and writes a
//     higher bound. It issues from the bound that it replaced.
//   - A bound counts when a write of the process's own was acknowledged, and for
//     no other reason. It issues below that.
//   - It extends by writing a bound that is no lower, from its base: the record that
//     was acknowledged, or read, last. After its clock was set back it writes the same.
//   - Without an answer it knows nothing. It reads, and a record of its own token
//     becomes the base of the next write, which must change it. The bound need
//     not rise; it counts once that write is acknowledged. A claim does the same,
//     and takes no other worker before.
//   - If the worker is another's, or was released by an operator, or the bound
//     reads lower than what was acknowledged, the process issues nothing more
//     under it. A bound that reads lower it restores, by a release. Then its grant
//     has ended: what the lease claims next is another process's here.
//   - It releases a worker after it has stopped issuing, above the last tick and not
//     above what was acknowledged: the record keeps the token and is marked. A release
//     that was read is done, as nothing depends on it.
//   - The store keeps the layout of the IDs in a record of its own. A process
//     reads it before it claims, writes it where there is none, and refuses
//     another. It reads it once more after the claim was acknowledged, and issues
//     only if that is still the record which it read or wrote before: not an
//     equal one. If it cannot read it, it releases the worker. That makes the layout durable, as it precedes the claim in the
//     log. It needs the one log; workers need no more than one log each.
//   - An operator evicts a holder by marking the record, at the bound it has or a
//     higher one. The bound of a worker that no process has any more may be lowered to
//     what is above all that was issued.
//
// # What holds
//
// Every tick that was issued, or that a process may issue, is below the bound of
// its worker, in what the store shows and in what is durable. So no tick is
// issued twice, and none under a layout that the store does not keep. Each
// [Mutant] breaks one of the rules, or the store, and Check finds out.
package model
