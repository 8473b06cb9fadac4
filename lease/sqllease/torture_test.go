package sqllease_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

func TestMain(m *testing.M) {
	storetest.RaiseParallel()
	leasetest.Main(m, dial)
}

// dial opens the store in a torture process.
func dial(_ context.Context, url, namespace string) (lease.Store, func(), error) {
	return dialWith(url, sqllease.WithNamespace(namespace), sqllease.WithLogger(slog.New(slog.DiscardHandler)))
}

// dialWith opens a store on the database of the URL. The returned function closes it.
func dialWith(url string, opts ...sqllease.Option) (lease.Store, func(), error) {
	db, err := openQuietly(url)
	if err != nil {
		return nil, nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	return newStore(db, opts...), func() { pool.Close() }, nil
}

// openQuietly opens a database without the driver's log messages about cut connections.
func openQuietly(url string) (*gorm.DB, error) {
	dialector, err := dsn.Open(url)
	if err != nil {
		return nil, err
	}
	if d, ok := dialector.(*mysql.Dialector); ok {
		d.DSNConfig.Logger = &mysqldriver.NopLogger{}
		connector, err := mysqldriver.NewConnector(d.DSNConfig)
		if err != nil {
			return nil, err
		}
		dialector = mysql.New(mysql.Config{Conn: poolFor(connector)})
	}
	return gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
}

// No ID is issued twice on SQLite. A file has no connection that could be cut, so the
// processes themselves lose answers of the store.
func TestTortureSQLite(t *testing.T) {
	t.Parallel()
	leasetest.Torture(t, sqliteURL(t), leasetest.TortureConfig{LoseOneIn: 4, Duration: 4 * time.Second})
}

// sqliteURL returns the URL of a new file.
func sqliteURL(t *testing.T) string {
	return "sqlite://" + filepath.Join(t.TempDir(), "workers.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
}

// No ID is issued twice if eight processes share two workers, so that each worker changes its
// holder all the time.
func TestTortureFewWorkers(t *testing.T) {
	t.Parallel()
	leasetest.Torture(t, sqliteURL(t), leasetest.TortureConfig{Workers: 2, Window: 300 * time.Millisecond, Duration: 4 * time.Second})
}

// No ID is issued twice while PostgreSQL is killed, although it may forget acknowledged writes
// of the last ten seconds under synchronous_commit=off. The store's own statements wait for the
// disk nevertheless.
func TestTorturePostgres(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t, "fsync=on", "synchronous_commit=off", "wal_writer_delay=10s")
	storetest.Torture(t, server, leasetest.TortureConfig{})
}

// No ID is issued twice while MariaDB is killed and answers to writes are lost.
func TestTortureMariaDB(t *testing.T) {
	t.Parallel()
	server := testserver.MariaDB(t, "innodb_flush_log_at_trx_commit=1")
	storetest.Torture(t, server, leasetest.TortureConfig{})
}

// No ID is issued twice while MySQL is killed and answers to writes are lost.
func TestTortureMySQL(t *testing.T) {
	t.Parallel()
	storetest.Torture(t, testserver.MySQL(t), leasetest.TortureConfig{})
}

// MariaDB and MySQL forget writes with innodb_flush_log_at_trx_commit=0 if the server dies.
// Acquire must fail with an error that names this setting.
func TestMariaDBThatForgetsIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		refusesToForget(t, testserver.MariaDB(t, "innodb_flush_log_at_trx_commit=0"))
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		refusesToForget(t, testserver.MySQL(t, "innodb_flush_log_at_trx_commit=0"))
	})
}

// refusesToForget expects that Acquire returns an error that names
// innodb_flush_log_at_trx_commit.
func refusesToForget(t *testing.T, server *testserver.Server) {
	t.Helper()
	store, closeStore, err := dial(t.Context(), server.URL(), "default")
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore()
	_, err = lease.Acquire(t.Context(), store, snowflake.TwitterLayout())
	if err == nil || !strings.Contains(err.Error(), "innodb_flush_log_at_trx_commit is 0") {
		t.Errorf("error = %v, want it to name the setting", err)
	}
}
