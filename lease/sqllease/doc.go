// Package sqllease keeps worker leases in the application's own database:
// SQLite (both drivers), MySQL and MariaDB, PostgreSQL.
//
//	store := sqllease.New(db)
//
// The records are rows of one table, snowflake_workers, which is created at
// first use if it is absent; see [DDL]. A lease costs one small UPDATE per third of its
// window: with the default of a minute, 1,024 processes write about 51 rows per second.
//
// # Connections
//
// The store sends its own SQL over connections of the pool that [gorm.Open]
// made, each statement in a transaction of its own; on TiDB, each write in an explicit
// pessimistic one. It never takes part in a
// transaction of the application: a worker taken there would be free again
// after a rollback. It inspects each connection that the pool returns: by three
// statements on MySQL and MariaDB, by one on PostgreSQL. Where a program has left a
// transaction open, autocommit=0, sql_log_bin=0, locks, a role without rights or, on
// MySQL, a temporary table that hides the real one, the store logs each cause once,
// closes the connection, so that the server rolls back what was left, and takes
// another; SQLite rolls back without that. On PostgreSQL it is pgx that closes a
// connection in a transaction: with another driver, leave none open.
//
// Hooks, callbacks, scopes, plugins, prepared statements and dry runs do not touch
// it. With dbresolver it uses the database that [gorm.Open] was given, neither
// replicas nor the resolver's other sources: all processes that share a namespace
// must open that same one. A DSN that names several hosts must lead to the primary.
//
// A pool of one connection works. While transactions of the application have all
// connections, the store waits. Package database/sql hands a connection that is
// returned to a waiter chosen at random, so a lease that extends its window waits in
// up to 128 places of that queue, which all leases of the store share, and [database/sql.DBStats] counts each. A window of
// four times the longest transaction has been long enough for every queue that was
// tried. Where it cannot be, [WithPool] gives the store a pool of its own.
//
// On SQLite the store also waits for every other transaction that has written
// something, in this process or another. The window must be longer than the
// longest of them; a pool of its own does not help.
//
// A pooler such as PgBouncer may stand between, also in transaction mode, if it
// keeps prepared statements or pgx is told to prepare none, by
// default_query_exec_mode=simple_protocol or =exec in the DSN.
//
// # Clusters
//
// On a node of a Galera cluster, reads of the store wait for what other nodes
// have acknowledged: a node that lags would look like a store that has forgotten.
// A server that refuses because it has left its cluster, is read-only or is a
// standby has applied nothing. Its connection is closed, so that the next one
// may lead to another server: with PostgreSQL, give all hosts in the DSN, with
// target_session_attrs=read-write and connect_timeout, for a frozen host accepts
// connections and says nothing.
//
// # What counts as written
//
// Only a write that the database has acknowledged. After any other answer, such
// as a connection that broke, the write is an error, whatever the table shows:
// PostgreSQL shows a commit that still waits for its standby, InnoDB one that is
// not yet in its log on disk, and both may vanish.
//
// One case cannot be seen. An administrator who ends a backend's wait for a
// synchronous standby by pg_cancel_backend makes PostgreSQL answer success, with
// a warning that database/sql does not pass on, for a write that no standby has.
// Do not fail over then before the standby has caught up.
//
// # The clock
//
// On PostgreSQL, MySQL and MariaDB the store is a
// [github.com/gormflake/gormflake/lease.Clock], in UTC whatever the time zones of
// the server and the session are. SQLite has no clock but the one of the process
// that asks, which cannot judge itself.
//
// # The table
//
// A table that cannot keep a worker to one holder is refused before the first
// write, and before a lost worker is replaced, with a [TableError] that has the
// statement which fixes it. What counts is a plain table with a unique key over
// (namespace, worker_id) alone, columns that hold and compare every value exactly,
// and no rule, trigger or policy that changes what is written. Further columns with
// defaults and further indexes are accepted. Records that such a key should have
// kept out are refused whenever they are read.
//
// All processes that write to the same tables must use one table of workers:
// where their settings of PostgreSQL's search_path differ, name it with its
// schema, by [WithTable]. The store refuses to create a second table where a search_path
// that is not the DSN's, or a changed database on MySQL, leads away from one with records.
//
// # Durability
//
// The database must not forget what it has acknowledged. Its settings are
// checked at first use. They come with each inspection: what has changed since is
// logged, once for each change, and stops nobody.
//
//   - PostgreSQL: each write waits for the log on disk, whatever
//     synchronous_commit is set to. An unlogged table is refused, fsync=off and
//     full_page_writes=off are logged as warnings. Failing over to an asynchronous standby forgets.
//   - MySQL and MariaDB: innodb_flush_log_at_trx_commit=0 is refused, 2 is
//     logged as a warning (a crash of the machine forgets up to a second), and so
//     is sync_binlog other than 1 with log_bin on. A storage engine other than
//     InnoDB is refused. Of a Galera cluster only the node that answers first can
//     be refused. Failing over to an asynchronous replica forgets.
//   - SQLite: journal_mode OFF and MEMORY are refused, under which a process that is
//     killed while it writes ruins the file. synchronous=OFF is refused, since what other connections write
//     under it can ruin the file. Each write of the store's own runs under
//     synchronous=EXTRA, which keeps it when the machine loses power, as NORMAL
//     with a write-ahead log does not, nor FULL with a journal that is deleted;
//     then the connection gets its own setting back.
//
// TiDB, CockroachDB and YugabyteDB are refused by name: the settings above exist
// there and mean nothing, and no test of this package has run on the last two. On TiDB
// they have, with its embedded storage; a cluster of TiKV, which commits in one phase or
// asynchronously, was not tried.
//
// [AllowVolatile] accepts what would be refused, but no lease on TiDB without
// [github.com/gormflake/gormflake/lease.WithSettle] of a window or more.
package sqllease
