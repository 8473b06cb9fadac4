// Package lease gives every process a worker number of its own, under which no
// tick is ever issued twice, whatever pauses, kills, clock steps, restarts or
// outages happen, as long as the store keeps what it has acknowledged.
//
// The processes share a [Store]: their database (package sqllease), Redis, etcd
// or ZooKeeper. It holds one [Record] per worker with a bound: every tick that
// anybody may issue under that worker is below it. A process reserves a window
// of ticks by raising the bound, in one compare-and-swap, before it issues the
// first of them; whoever takes the worker next starts at the bound it finds. So
// no clock needs to be right for safety: a process that slept for an hour wakes
// up above its own bound and stops until it has another window, and one that
// starts with its clock an hour back finds in the store where the last life
// ended. Clocks decide only how soon a worker is free again.
//
// [Acquire] takes a worker and returns a [Lease], which is a
// [snowflake.WorkerSource]:
//
//	l, err := lease.Acquire(ctx, sqllease.New(db), snowflake.TwitterLayout())
//	gen, err := snowflake.New(l)
//	defer gen.Close(context.Background()) // gives the worker back
//
// It is segment allocation, as databases do it for sequences, applied to the
// time in an ID. Nothing can hide that a store has forgotten an acknowledged
// write (a restored backup, a failover to a replica that lagged): see
// [WithSettle]. Nor that a virtual machine was cloned with a lease in its memory:
// both go on until they extend their window; whoever comes second finds out,
// logs an error and takes another worker.
//
// The protocol is specified in lease/internal/model, where every order of events
// is tried.
package lease
