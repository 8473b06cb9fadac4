// Package zklease keeps worker leases in ZooKeeper: it is a [lease.Store] over a
// connection of go-zookeeper.
//
//	conn, _, err := zk.Connect(servers, 10*time.Second)
//	l, err := lease.Acquire(ctx, zklease.New(conn), snowflake.TwitterLayout())
//
// A worker is one persistent node under /gormflake/NAMESPACE, by default
// /gormflake/default; parents are created where they are missing. No node is
// ephemeral, so a session that expires changes nothing. Do not delete the nodes.
//
// The store is not a [lease.Clock], since ZooKeeper returns no time: nothing stops
// a process whose clock is far ahead from raising the bound of its worker that far.
//
// ZooKeeper acknowledges a write once most servers have it on their disks, so
// that no crash and no failover loses one, and [lease.WithSettle] is not needed.
// Three things can: a backup that is restored, a server with forceSync=no that
// loses its power, and disks that lie about what they have written. After any of
// them wait for one window before the first process starts again.
//
// Each call brings the server that the client is connected to up to the leader's
// state first, since a follower may lag.
package zklease
