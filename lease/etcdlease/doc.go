// Package etcdlease keeps worker leases in etcd. [New] returns a [lease.Store] over a
// clientv3 client.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
//	l, err := lease.Acquire(ctx, etcdlease.New(client), snowflake.TwitterLayout())
//
// A worker is one key under gormflake/NAMESPACE/, by default gormflake/default/. The
// user of the client needs the rights to read and write under that prefix. The keys are
// not attached to a lease of etcd and never expire. Do not delete them.
//
// The store is not a [lease.Clock], because etcd returns no time. Therefore a process
// whose clock is far ahead can raise the bound of its worker that far.
//
// etcd acknowledges a write once most members have it on their disks. A crash or a
// failover does not lose it, so [lease.WithSettle] is not needed. An acknowledged write
// can be lost in three cases: a backup is restored, a member was started with
// --unsafe-no-fsync, or a disk reports data as written too early. After any of these,
// wait for one window before the first process starts again.
package etcdlease
