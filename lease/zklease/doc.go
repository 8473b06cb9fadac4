// Package zklease keeps worker leases in ZooKeeper. [New] returns a [lease.Store] over
// a connection of go-zookeeper.
//
//	conn, _, err := zk.Connect(servers, 4*time.Second)
//	l, err := lease.Acquire(ctx, zklease.New(conn), snowflake.TwitterLayout())
//
// A worker is one persistent node under /gormflake/NAMESPACE, by default
// /gormflake/default. The store creates missing parents. It uses no ephemeral node, so
// the end of a session removes no node. Do not delete the nodes.
//
// The store cannot read whether a server runs with forceSync=no. It logs a warning,
// unless [WithForceSync] states that no server does.
//
// The store is not a [lease.Clock], because ZooKeeper returns no time. Therefore a
// process whose clock is far ahead can raise the bound of its worker that far.
//
// ZooKeeper acknowledges a write once most servers have it on their disks. A crash or a
// failover does not lose it, so [lease.WithSettle] is not needed. An acknowledged write
// can be lost in three cases: a backup is restored, a server with forceSync=no loses
// its power, or a disk reports data as written too early. After any of these, wait for
// one window before the first process starts again.
//
// Keep the timeout of the session short. If a server stops answering, the client
// notices after two thirds of the timeout. If such a server still accepts a new connection,
// the client waits on this connection for six and two thirds of the timeout. With a timeout
// of 10s that is more than a minute, which outlasts the default window. With 4s it is half a
// minute.
//
// A follower may lag. Each call therefore first brings the server that the client is
// connected to up to the leader's state.
package zklease
