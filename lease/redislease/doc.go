// Package redislease keeps worker leases in Redis or Valkey. [New] returns a
// [lease.Store] over a go-redis client, for a single server, a master watched by
// sentinels, or a cluster.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	l, err := lease.Acquire(ctx, redislease.New(client), snowflake.TwitterLayout())
//
// A namespace is one hash, by default gormflake:{default}, with a field for each
// worker. The hash never expires. Do not delete the hash or set a time to live on it. The
// user of the client needs the commands EVAL, HGET, HSET, HDEL, HGETALL, TIME and INFO on
// this key, and should have CONFIG GET, WAITAOF and, in a cluster, CLUSTER.
//
// The store is a [lease.Clock] with the time of the server. It reads the server's
// settings before it leases the first worker, when another server answers, and every
// five minutes.
//
// # What Redis may forget
//
// Leases rely on a store that keeps acknowledged writes. By default Redis does not:
//
//   - A server under memory pressure evicts keys. The store refuses to work with
//     any maxmemory-policy but noeviction.
//   - A server that crashes loses writes that are not on its disk. It keeps all
//     writes with appendonly yes, appendfsync always and no-appendfsync-on-rewrite no. With
//     appendfsync everysec it loses up to a second, and with snapshots minutes. The
//     store logs a warning if the settings are different, or if it cannot read them. Under
//     appendfsync always it asks a single server, or a master watched by sentinels, whether
//     a write is on its disk (WAITAOF, in Redis 7.2 and Valkey). With
//     no-appendfsync-on-rewrite yes, leases then wait while the server saves, instead of
//     being forgotten.
//   - A replica that accepts writes (replica-read-only no) does not send them to its primary.
//     The store refuses every replica, also a primary that becomes a replica. It recognizes
//     a replica by INFO.
//   - A failover, by sentinels or in a cluster, promotes a replica that may not
//     have received the last writes. A master that was cut off may also continue
//     for a while. WAIT and min-replicas-to-write make lost writes
//     rarer, but do not rule them out.
//   - Somebody deletes the key, flushes the database, or restores a backup.
//
// A process that takes a worker from such a server may start below ticks that were
// already issued. If that can happen, and on every server with replicas, wait for one
// window before issuing under a worker:
//
//	lease.Acquire(ctx, redislease.New(client), layout, lease.WithSettle(time.Minute))
//
// If the clocks of the machines are roughly right, the window of a forgotten write has
// passed by then.
package redislease
