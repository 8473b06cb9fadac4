// Package zklease keeps worker leases in ZooKeeper: it is a [lease.Store] over a
// connection of go-zookeeper.
//
//	conn, _, err := zk.Connect(servers, 4*time.Second)
//	l, err := lease.Acquire(ctx, zklease.New(conn), snowflake.TwitterLayout())
//
// A worker is one persistent node under /gormflake/NAMESPACE, by default
// /gormflake/default; parents are created where they are missing. No node is
// ephemeral, so a session that expires changes nothing. Do not delete the nodes.
//
// The store cannot see whether a server runs with forceSync=no, and warns of it
// unless [WithForceSync] states that none does.
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
// Keep the timeout of the session short. The client notices after two thirds of it
// that a server is mute, and a new connection to such a server, which may still
// accept it, keeps the client waiting for six and two thirds of it: a minute and
// more with 10s, which outlasts the default window. With 4s it is half a minute.
//
// Each call brings the server that the client is connected to up to the leader's
// state first, since a follower may lag.
package zklease
