// Package redislease keeps worker leases in Redis or Valkey: it is a
// [lease.Store] over a go-redis client, for a single server, a master watched by
// sentinels, or a cluster.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	l, err := lease.Acquire(ctx, redislease.New(client), snowflake.TwitterLayout())
//
// A namespace is one hash, by default gormflake:{default}, with a field for each
// worker. It never expires; do not delete it, nor set a time to live on it. The
// user of the client needs the commands EVAL, HGET, HSET, HDEL, HGETALL, TIME and
// INFO on that key, and should have CONFIG GET, WAITAOF and, in a cluster, CLUSTER.
//
// The store is a [lease.Clock]: its time is the server's. Settings are read before
// the first worker is leased, from each server that comes to answer, and every five
// minutes.
//
// # What Redis may forget
//
// Everything rests on the store remembering what it has acknowledged, and Redis
// as it comes does not:
//
//   - A server under memory pressure evicts keys. The store refuses to work with
//     any maxmemory-policy but noeviction.
//   - A server that crashes loses what it has not written to its disk. Only with
//     appendonly yes, appendfsync always and no-appendfsync-on-rewrite no is that
//     nothing; appendfsync everysec loses up to a second, and snapshots minutes. The
//     store warns where it is not so, or cannot see it. Under appendfsync always it
//     asks a single server, or a master watched by sentinels, whether its disk has a
//     write (WAITAOF, in Redis 7.2 and Valkey): no-appendfsync-on-rewrite yes then
//     makes leases wait while the server saves, instead of forgetting them.
//   - A replica that accepts writes (replica-read-only no) keeps them from its primary.
//     The store refuses every replica, also a primary that becomes one. It needs INFO
//     for that.
//   - A failover, by sentinels or in a cluster, promotes a replica that may not
//     have received the last writes; so may a master that was cut off from the
//     others and continues for a while. WAIT and min-replicas-to-write make it
//     rarer, and rule it out by no means.
//   - Somebody deletes the key, flushes the database, or restores a backup.
//
// A process that takes a worker from such a server may start below ticks that were
// issued already. Where that can happen, and for every server with replicas,
// wait for one window before issuing under a worker:
//
//	lease.Acquire(ctx, redislease.New(client), layout, lease.WithSettle(time.Minute))
//
// By then whatever the lost write allowed has passed, if the clocks of the
// machines are roughly right.
package redislease
