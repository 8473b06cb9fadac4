// Package sqllease keeps worker leases in the application's own database:
// SQLite (both drivers), MySQL and MariaDB, PostgreSQL.
//
//	store := sqllease.New(db)
//
// The records are rows of one table, snowflake_workers, which is created at
// first use if it is absent; see [DDL] for teams whose DBAs do that. A lease
// costs one small UPDATE per third of its window: with the default of a minute,
// 1,024 processes write about 51 rows per second, one process 0.05.
//
// # Connections
//
// The store sends its own SQL over connections of the pool that [gorm.Open]
// made, each statement in a transaction of its own. It never takes part in a
// transaction of the application: a worker taken there would be free again
// after a rollback. Hooks, callbacks, scopes, plugins, prepared statements and
// dry runs do not touch it. With dbresolver it uses the database that
// [gorm.Open] was given, neither replicas nor the resolver's other sources: all
// processes that share a namespace must open that same one. A DSN that names
// several hosts must lead to the primary.
//
// A pool of one connection works. While a transaction of the application has
// that connection, or on SQLite any transaction has written something, the
// store waits, and fails when its context ends; the window must be longer than
// the longest of those.
//
// # The table
//
// A table that cannot keep a worker to one holder is refused before the first
// write, with a [TableError] that has the statement which fixes it. What counts
// is a plain table with a unique key over (namespace, worker_id) alone, columns
// that hold and compare every value exactly, and no rule, trigger or policy
// that changes what is written. Further columns with defaults and further
// indexes are accepted. Records that such a key should have kept out are
// refused whenever they are read.
//
// All processes that write to the same tables must use one table of workers:
// where their settings of PostgreSQL's search_path differ, name it with its
// schema, by [WithTable].
//
// # Durability
//
// The database must not forget what it has acknowledged. What it says about
// itself is checked at first use:
//
//   - PostgreSQL: each write waits for the log on disk, whatever
//     synchronous_commit is set to. An unlogged table is refused, fsync=off is
//     logged as a warning. Failing over to an asynchronous standby forgets.
//   - MySQL and MariaDB: innodb_flush_log_at_trx_commit=0 is refused, 2 is
//     logged as a warning (a crash of the machine forgets up to a second), and
//     so is a storage engine other than InnoDB refused. Failing over to an
//     asynchronous replica forgets.
//   - SQLite: synchronous=OFF is refused. NORMAL with a write-ahead log keeps
//     everything when a process dies, but can forget when the machine loses
//     power; FULL, SQLite's own default, keeps it then too.
//
// [AllowVolatile] accepts what would be refused; use it with
// [github.com/gormflake/gormflake/lease.WithSettle], as for every database that
// can forget.
package sqllease
