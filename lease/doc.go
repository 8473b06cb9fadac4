// Package lease gives every process a worker of its own, under which no tick is
// ever issued twice, whatever pauses, kills, clock steps, restarts or outages
// happen, as long as the store keeps what it has acknowledged.
//
// [Acquire] leases a worker and returns a [Lease], which is a
// [snowflake.WorkerSource]:
//
//	l, err := lease.Acquire(ctx, sqllease.New(db), snowflake.TwitterLayout())
//	gen, err := snowflake.New(l)
//	defer gen.Close(context.Background()) // releases the worker
//
// The processes share a [Store]: their database (package sqllease), Redis, etcd
// or ZooKeeper. It holds one [Record] per worker with a bound: every tick that
// anybody may issue under that worker is below it. A process reserves a window
// of ticks by raising the bound, in one compare-and-swap, before it issues the
// first of them. It is segment allocation, as databases do it for sequences, applied
// to the time in an ID.
//
// # Four rules
//
//  1. A process issues only ticks below the bound that it raised and that the store
//     acknowledged. What it merely read may vanish when the store crashes, and is
//     only the base of the next compare-and-swap.
//  2. A new holder starts at the bound that it finds, or later.
//  3. The owner is a token, whose random part is the grant's. A record without it, or
//     one that none of the process's own writes explains, means that the worker is
//     lost, and the old grant is revoked before anything else happens.
//  4. Closing a generator first seals its state, so that no goroutine can issue, and
//     then releases the worker with the tick after the last one issued as the bound.
//
// No rule depends on a clock that is right: a process that slept for an hour finds its
// clock past its bound and stops until it has another window, and one that starts with
// its clock an hour back finds in the store where the previous process ended. Clocks
// decide how soon a worker is free again, and a wrong one is kept from blocking a
// worker for long where the store has a [Clock]. The protocol is specified in
// lease/internal/test/model, which tries every order of events.
//
// Nothing can make up for a store that has forgotten an acknowledged write (a
// restored backup, a failover to a replica that lagged): see [WithSettle]. Nor for a
// virtual machine that was cloned with a lease in its memory: both issue until they
// extend their window; the second one then finds out, logs an error and acquires
// another worker.
//
// # States
//
// Held, fenced and lost are a process's own view of its worker.
//
//	                bound reached, no answer
//	Acquire ---> held ---------------------------> fenced
//	             ^ | <---------------------------- | ^
//	             | |    answer, record unchanged   | |
//	     another | | record                 record | | no worker
//	     worker  | | changed               changed | | is free
//	             | '---------> +------+ <----------' |
//	             '------------ | lost | -------------'
//	                           +------+
//
// A held window is renewed after each third of it. Closing the generator releases a
// worker that is held or fenced.
//
// # Parts
//
// Each part calls those to the right of it, and none to the left:
//
//	Lease --> claim --> keeper, holdings --> chooser, clocks, records --> heldWorker, Record
//
//	Lease      the methods of a source, the loop that renews, and the store's lock
//	claim      looks for a worker and writes a record for it
//	keeper     extends and releases one worker, and notices its loss
//	holdings   the workers, grants, outage and counts; their mutex, which is never
//	           held during a call of the store
//	chooser    picks a worker among records; asks nobody
//	clocks     compare this process's clock with the store's
//	records    the calls of the store, each with its timeout
//	heldWorker what was acknowledged, written and read of a worker
//
// From an ID down to the store: [snowflake.Generator] issues below the limit of its
// grant; past it, Lease.Extend waits for Lease.renew, which has the keeper extend the
// window, or claims another worker.
package lease
