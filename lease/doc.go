// Package lease gives every process a worker of its own, which is the number in a Snowflake
// ID that identifies the issuer. As long as the store keeps its acknowledged writes, no tick
// is ever issued twice under a worker, in spite of pauses, kills, clock steps, restarts and
// outages.
//
// [Acquire] leases a worker and returns a [Lease], which is a [snowflake.WorkerSource]:
//
//	l, err := lease.Acquire(ctx, sqllease.New(db), snowflake.TwitterLayout())
//	gen, err := snowflake.New(l)
//	defer gen.Close(context.Background()) // releases the worker
//
// The processes share a [Store]: their database (package sqllease), Redis, etcd or
// ZooKeeper. The store holds one [Record] per worker. Its bound is above every tick
// that any process may issue under the worker. Before a process issues the first tick
// of a window, it reserves the window by raising the bound in one compare-and-swap.
// This is segment allocation, as databases do it for sequences, applied to the time in
// an ID.
//
// # Four rules
//
//  1. A process issues only ticks below a bound that it has written itself and that the
//     store has acknowledged. A record that it only read may vanish when the store
//     crashes, so it serves only as the base of the next compare-and-swap.
//  2. A new holder starts at the bound that it finds, or later.
//  3. The owner in a record is a token with a random part for each claim. If the record
//     has another token, or shows a write that the process did not send, the worker is
//     lost. The lease then first revokes the old grant.
//  4. Closing a generator first seals its state, so that no goroutine can issue. Then it
//     releases the worker, with the tick after the last issued tick as the bound.
//
// No rule depends on a correct clock. A process that slept for an hour finds that its
// clock is past its bound, and stops until it has another window. A process that starts
// with its clock an hour back finds in the store where the previous process ended.
// Clocks only decide how soon a worker is free again. If the store has a [Clock], it
// keeps a process with a wrong clock from blocking a worker for long. The protocol is
// specified in lease/internal/test/model, which tries every order of events.
//
// There are two limits. If a store forgets an acknowledged write (a restored backup, a
// failover to a lagging replica), two processes may hold the same worker: see
// [WithSettle]. And if a virtual machine is cloned while it holds a lease, both copies
// issue under one worker until they extend their window. The second copy then finds
// that the worker is lost, logs an error and acquires another worker.
//
// # States
//
// A process sees its worker as held, fenced or lost.
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
// The lease renews a held window after each third of it. Closing the generator releases
// a worker that is held or fenced.
//
// # Parts
//
// Each part calls only parts to the right of it:
//
//	Lease --> claim --> keeper, holdings --> chooser, clocks, records --> heldWorker, Record
//
//	Lease      the methods of a source (lease.go, grants.go), and the loop that decides
//	           when a worker is renewed, replaced and released (renew.go)
//	claim      looks for a worker and writes a record for it (claim.go)
//	keeper     writes the records that extend and release one worker, and notices its
//	           loss (keeper.go)
//	holdings   the workers, grants, outage and counts; their mutex, which is never
//	           held during a call of the store (holdings.go, outage.go)
//	chooser    picks a worker among records; does not call the store (choose.go)
//	clocks     compare this process's clock with the store's (clocks.go)
//	records    the calls of the store, each with its timeout, and the store's lock
//	           (store.go)
//	heldWorker the writes of a worker: acknowledged, sent and read (worker.go)
//
// For each ID, [snowflake.Generator] compares the tick with the limit of its grant and
// issues if the tick is below the limit. At the limit it calls Lease.Extend, which waits for
// Lease.renew. Lease.renew makes the keeper extend the window, or claims another worker.
package lease
