// Package model is the specification of package lease. It models the protocol at a size
// at which every order of events can be tried. [Check] visits every state of a few
// processes, workers and ticks, and searches for a tick of one worker that is issued
// twice.
//
// # The store
//
// The store has one record per worker. A record contains a bound, the token of the
// grant that owns the worker, a mark that the worker was released, and a version. The
// version stands for the counter in the token. It makes each written record differ from
// all others, so that a write changes the record even if the bound stays.
//
// A write compares and swaps. Once it has landed it is visible: every process reads it,
// and the next write is compared with it. It becomes durable later, and is acknowledged
// only when it is durable. One log orders all writes, so that an acknowledged write
// makes the writes before it durable. A crash forgets the end of the log, but nothing
// up to the last acknowledgement. The store never answers a write that it has
// forgotten. The model decides as late as possible when a write becomes durable: at its
// acknowledgement, at a crash that it survives, or when the log is full.
//
// A write may get lost, or its answer. A write may also land after its sender has
// stopped waiting or has died.
//
// # The processes
//
// Clocks may show any time, so a process may claim any worker, and a window may have
// any length. A process may pause or die between any two steps. It has one grant. A
// lease has several grants, one after the other, and two at once if it claims a worker
// before it has released a worker that its generator refused. In this model each grant
// is a process, because each has its own token.
//
//   - A process claims a worker under a fresh token. It reads the record, and writes a
//     higher bound. It issues from the bound that it replaced.
//   - A bound counts when the store has acknowledged a write of the process itself, and for
//     no other reason. The process issues below that bound.
//   - A process extends its window by writing a bound that is not lower. It starts from its
//     base, the record that was last acknowledged or read. After its clock was set back it
//     writes the same bound.
//   - Without an answer the process does not know whether it has written. It reads, and a
//     record with its own token becomes the base of the next write, which must change the
//     record. The bound need not rise. It counts once that write is acknowledged. A claim
//     does the same, and claims no other worker before that.
//   - A claim that gives up reads the records that it has tried to write. It releases a
//     worker whose record has its own token, at the bound from which it would have issued,
//     because it has issued nothing. The bound may be higher, up to the record's, because
//     an earlier grant of the same lease may have issued IDs that the store has forgotten.
//   - If another process has the worker, or an operator has released it, or the bound
//     reads lower than the acknowledged bound, the process stops issuing
//     under it. If the bound reads lower, the process restores it by a release. Its grant
//     has then ended. The next claim of the lease is another process of the model.
//   - A process releases a worker after it has stopped issuing, at a bound above the last
//     tick and not above the acknowledged bound. The record keeps the token and is marked. If
//     the process reads its release, the release is done, because nothing depends on it.
//   - The store keeps the layout of the IDs in a separate record. A process
//     reads it before it claims, writes it if it is absent, and refuses another layout. It
//     reads it once more after the claim was acknowledged, and issues only if the record is
//     still the record that it read or wrote before, and not just an equal record. If it
//     cannot read the record, it releases the worker. The acknowledged claim makes the
//     layout durable, because the layout precedes the claim in the log. This needs a common
//     log. The records of the workers alone would need only one log each.
//   - An operator evicts a holder by marking the record, at the same or a
//     higher bound. If no process has the worker any more, the operator may lower its bound
//     to a value above all issued ticks.
//
// # What holds
//
// Every tick that was issued, or that a process may issue, is below the bound of its
// worker, both in the visible and in the durable record. So no tick is issued twice,
// and none under a layout that the store does not keep. Each [Mutant] breaks one of the
// rules, or the store, and Check finds a violation.
package model
