// Package sqllease keeps worker leases in the application's own database:
// SQLite (both drivers), MySQL and MariaDB, PostgreSQL.
//
//	store := sqllease.New(db)
//
// The records are rows of one table, snowflake_workers. The store creates it at first
// use if it does not exist; see [DDL]. A lease costs one small UPDATE per third of its
// window. With the default window of a minute, 1,024 processes write about 51 rows per
// second.
//
// # Connections
//
// The store sends its own SQL over connections of the pool that [gorm.Open] made. Each
// statement is its own transaction; on TiDB, each write runs in an explicit pessimistic
// transaction. The store never takes part in a transaction of the application, because
// after a rollback a worker taken in it would be free again. It inspects each
// connection that the pool returns, by three statements on MySQL and MariaDB and by two
// on PostgreSQL. A program may have left a transaction open, autocommit=0,
// sql_log_bin=0, locks, a role without rights or, on MySQL, a temporary table that
// hides the real table. In these cases the store logs each cause once, closes the
// connection, so that the server rolls back, and takes another connection. On SQLite it
// rolls back and keeps the connection.
//
// Hooks, callbacks, scopes, plugins, prepared statements and dry runs do not affect the
// store. With dbresolver it uses the database that [gorm.Open] was given, and not the
// replicas or the resolver's other sources. All processes that share a namespace
// must open that same database. A DSN that names several hosts must lead to the
// primary.
//
// A pool of one connection works. While transactions of the application use all
// connections, the store waits. Package database/sql hands a returned connection to a
// waiter chosen at random. A lease that extends its window therefore waits in up to 128
// places of that queue. All leases on a pool share 2,048 such places beyond the first
// place of each, and [database/sql.DBStats] counts each place. In every queue that was
// tried, a window of four times the longest transaction was long enough. If the window
// cannot be that long, [WithPool] gives the store a pool of its own.
//
// On SQLite the store also waits for every other transaction that has written
// something, in this process or another. The window must be longer than the longest of
// these transactions; a pool of its own does not help.
//
// The store also works through a pooler such as PgBouncer in transaction mode, if the
// pooler keeps prepared statements, or if default_query_exec_mode=simple_protocol or
// =exec in the DSN keeps pgx from preparing statements.
//
// # Clusters
//
// On a node of a Galera cluster, reads of the store wait until the node has applied all
// writes that other nodes have acknowledged, because a lagging node would look like a
// store that has forgotten.
//
// A server that has left its cluster, is read-only or is a standby refuses a statement
// without applying it. The store then closes the connection, so that the next connection
// may lead to another server. With PostgreSQL, give all hosts in the DSN, with
// target_session_attrs=read-write and connect_timeout. Without connect_timeout, a frozen
// host, which accepts connections and never answers, would keep the driver from trying the
// next host.
//
// # What counts as written
//
// Only a write that the database has acknowledged counts. After any other answer, such
// as a broken connection, the write is an error, even if the table shows it. PostgreSQL
// shows a commit that still waits for its standby, and InnoDB shows a commit that is
// not yet in its log on disk. Both may vanish.
//
// The store cannot detect one case. If an administrator uses pg_cancel_backend to end a
// backend's wait for a synchronous standby, PostgreSQL reports success for a write that
// no standby has. It adds a warning, which database/sql does not pass on. Do not fail
// over then before the standby has caught up.
//
// # The clock
//
// On PostgreSQL, MySQL and MariaDB the store is a
// [github.com/gormflake/gormflake/lease.Clock]. Its time is UTC, independent of the
// time zones of the server and the session. On SQLite the store is not a Clock, because
// SQLite only has the clock of the calling process, with which a process cannot check
// itself.
//
// # The table
//
// The store refuses a table that cannot keep a worker to one holder, with a
// [TableError] that contains the statement to fix it. It checks the table before the
// first write, and before a lease replaces a lost worker. The table must be a plain
// table with a unique key over (namespace, worker_id) alone, with columns that hold and
// compare every value exactly, and without a rule, trigger or policy that changes a
// write. Further columns with defaults and further indexes are accepted. Each read also
// fails if it finds two records of one worker, which such a key would have prevented.
//
// All processes that write to the same tables must use one table of workers. If their
// settings of PostgreSQL's search_path differ, name the table with its schema, by
// [WithTable]. The store refuses to create a second table if a search_path that does
// not come from the DSN, or a changed database on MySQL, leads away from a table with
// records.
//
// # Durability
//
// The database must not forget acknowledged writes. The store checks the database's
// settings at first use, and reads them again with each inspection of a connection. It
// logs a later change of a setting once, and continues.
//
//   - PostgreSQL: each write waits until the log is on disk, even if synchronous_commit is
//     off. The store refuses an unlogged table, and logs a warning for fsync=off and
//     full_page_writes=off. A failover to an asynchronous standby forgets writes.
//   - MySQL and MariaDB: the store refuses innodb_flush_log_at_trx_commit=0. It logs a
//     warning for 2 (a crash of the machine forgets up to a second) and for a sync_binlog
//     other than 1 with log_bin on. It refuses a storage engine other than InnoDB. In a Galera
//     cluster it can only refuse the node that answers first. A failover to an
//     asynchronous replica forgets writes.
//   - SQLite: the store refuses journal_mode OFF and MEMORY, because a process that is
//     killed while it writes ruins the file. It refuses synchronous=OFF, because writes of
//     other connections can then ruin the file. For each of its own writes it sets
//     synchronous=EXTRA and afterwards restores the connection's setting. EXTRA keeps a write
//     when the machine loses power. NORMAL with a write-ahead log does not, nor does FULL
//     with a journal that is deleted.
//
// The store refuses TiDB, CockroachDB and YugabyteDB by name, because they have the
// settings above but ignore them. No test of this package has run on CockroachDB and
// YugabyteDB. On TiDB the tests have run with its embedded storage, but not on a
// cluster of TiKV, which commits in one phase or asynchronously.
//
// [AllowVolatile] accepts these servers and settings. A lease on TiDB also needs
// [github.com/gormflake/gormflake/lease.WithSettle] of a window or more.
package sqllease
