// Package etcdlease keeps worker leases in etcd: it is a [lease.Store] over a
// clientv3 client.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
//	l, err := lease.Acquire(ctx, etcdlease.New(client), snowflake.TwitterLayout())
//
// A worker is one key under gormflake/NAMESPACE/, by default gormflake/default/;
// the user of the client needs to read and write under that prefix. The keys
// belong to no lease of etcd's and never expire: do not delete them.
//
// The store is not a [lease.Clock], since etcd returns no time: nothing stops a
// process whose clock is far ahead from raising the bound of its worker that far.
//
// etcd acknowledges a write once most members have it on their disks, so that
// no crash and no failover loses one, and [lease.WithSettle] is not needed.
// Three things can: a backup that is restored, a member that was started with
// --unsafe-no-fsync, and disks that lie about what they have written. After any
// of them wait for one window before the first process starts again.
package etcdlease
