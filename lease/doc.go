// Package lease gives every process a worker of its own, under which no tick is
// ever issued twice, whatever pauses, kills, clock steps, restarts or outages
// happen, as long as the store keeps what it has acknowledged.
//
// The processes share a [Store]: their database (package sqllease), Redis, etcd
// or ZooKeeper. It holds one [Record] per worker with a bound: every tick that
// anybody may issue under that worker is below it. A process reserves a window
// of ticks by raising the bound, in one compare-and-swap, before it issues the
// first of them; the next holder starts at the bound that it finds. So no clock
// needs to be right for safety: a process that slept for an hour finds
// its clock past its bound and stops until it has another window, and one that starts with
// its clock an hour back finds in the store where the previous process ended.
// Clocks decide only how soon a worker is free again, and a wrong one is kept
// from blocking a worker for long where the store has a [Clock].
//
// A bound counts because a write of it was acknowledged. What was only read may
// vanish when the store crashes, and is the base of the next compare-and-swap, no
// more. A process that finds its worker lost stops at once under it; the record's
// token shows which bound the new holder replaced, and so whether the store has
// forgotten one.
//
// [Acquire] leases a worker and returns a [Lease], which is a
// [snowflake.WorkerSource]:
//
//	l, err := lease.Acquire(ctx, sqllease.New(db), snowflake.TwitterLayout())
//	gen, err := snowflake.New(l)
//	defer gen.Close(context.Background()) // releases the worker
//
// It is segment allocation, as databases do it for sequences, applied to the
// time in an ID. Nothing can make up for a store that has forgotten an
// acknowledged write (a restored backup, a failover to a replica that lagged):
// see [WithSettle]. Nor for a virtual machine that was cloned with a lease in its
// memory: both issue until they extend their window; the second one then finds
// out, logs an error and acquires another worker.
//
// From an ID down to the store: [snowflake.Generator] issues below the limit of
// its grant; past it, Lease.Extend (grants.go) waits for a renewal; Lease.renew
// (renew.go) extends the window, or notices a loss (loss.go) and claims another
// worker (claim.go, choose.go); heldWorker (worker.go) holds what was
// acknowledged; the [Store] compares and swaps.
//
// The protocol is specified in lease/internal/model, where every order of events
// is tried.
package lease
