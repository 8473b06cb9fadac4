package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// connect returns a store that uses only one connection of the pool. The end of the test
// releases the connection.
func connect(t *testing.T, store lease.Store) lease.Store {
	t.Helper()
	connected, release := connectFor(t, store)
	t.Cleanup(release)
	return connected
}

// connectFor returns a store that uses only one connection of the pool, and the function that
// releases the connection.
func connectFor(t *testing.T, store lease.Store) (connected lease.Store, release func()) {
	t.Helper()
	connected, release, err := store.(lease.Connector).Connect(within(t, patience))
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	return connected, release
}

// poolOf returns the pool of db.
func poolOf(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// A connected store holds one connection until its release.
func TestConnect(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		pool := poolOf(t, db)
		pool.SetMaxOpenConns(1)
		store := newStore(db)
		for bound := range int64(3) {
			connected, release := connectFor(t, store)
			current := load(t, connected)[1]
			swap(t, connected, 1, current, lease.Record{Bound: bound + 1, Owner: "one"}, true)
			swap(t, connected, 1, current, third, false)
			if in := pool.Stats().InUse; in != 1 {
				t.Errorf("%d connections are in use, want 1", in)
			}
			release()
			if in := pool.Stats().InUse; in != 0 {
				t.Errorf("%d connections are in use after the release, want 0", in)
			}
			if _, err := connected.Load(within(t, patience)); !errors.Is(err, sql.ErrConnDone) {
				t.Errorf("Load after the release: %v, want %v", err, sql.ErrConnDone)
			}
		}
		if got := load(t, store)[1]; got != (lease.Record{Bound: 3, Owner: "one"}) {
			t.Errorf("the record is %+v, want the last that was written", got)
		}
	})
}

// On the first use, one call checks the table and all others wait for it. A call that
// already holds the only connection of the pool must not wait, because the call that
// checks waits for that connection.
func TestConnectedFirstUse(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		poolOf(t, db).SetMaxOpenConns(1)
		store := newStore(db)
		connected, release := connectFor(t, store)
		loaded := make(chan error, 1)
		go func() {
			_, err := store.Load(within(t, patience))
			loaded <- err
		}()
		for poolOf(t, db).Stats().WaitCount == 0 {
			time.Sleep(time.Millisecond)
		}
		swap(t, connected, 1, lease.Record{}, first, true)
		release()
		if err := <-loaded; err != nil {
			t.Errorf("Load: %v", err)
		}
	})
}

// Connect waits for a connection of a busy pool until its context ends. Its error then
// names the busy pool as the reason. If a transaction returns its connection before,
// Connect gets it.
func TestConnectWaits(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		pool := poolOf(t, db)
		pool.SetMaxOpenConns(1)
		store := newStore(db).(lease.Connector)
		tx := db.Begin()
		ctx := within(t, 200*time.Millisecond)
		_, _, err := store.Connect(ctx)
		checkLate(t, "Connect", ctx, err, "for a connection, and all 1 of the pool are in use, perhaps by a transaction that waits for this call")
		time.AfterFunc(300*time.Millisecond, func() { tx.Rollback() })
		_, release, err := store.Connect(within(t, patience))
		if err != nil {
			t.Fatalf("Connect: %v", err)
		}
		release()
	})
}

// While all connections of the pool are in use, a call of Connect waits for one in the
// queue of package database/sql. It doubles its places in this queue from time to time,
// because database/sql chooses among the waiters at random. If several of its places get a
// connection, the call keeps one connection, and returns the others to the pool.
func TestConnectReturnsOthers(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		const size = 4
		pool := poolOf(t, db)
		pool.SetMaxOpenConns(size)
		store := newStore(db).(lease.Connector)
		busy := make([]*sql.Conn, size)
		for i := range busy {
			var err error
			if busy[i], err = pool.Conn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(1200*time.Millisecond, func() { // by then the call has two places, because without a deadline it doubles them every second
			for _, conn := range busy {
				_ = conn.Close()
			}
		})
		_, release, err := store.Connect(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatalf("Connect: %v", err)
		}
		release()
		awaitIdle(t, pool)
	})
}

// awaitIdle waits until all connections are back in the pool.
func awaitIdle(t *testing.T, pool *sql.DB) {
	t.Helper()
	for deadline := time.Now().Add(patience); pool.Stats().InUse != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections have not come back", pool.Stats().InUse)
		}
	}
}

// If the pool is closed, Connect must return the error of the pool.
func TestConnectFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		storeDB := reopen(t, db)
		poolOf(t, storeDB).Close()
		_, _, err := newStore(storeDB).(lease.Connector).Connect(within(t, patience))
		if errorText(err) != "sqllease: sql: database is closed" {
			t.Errorf("Connect: %v, want an error of the pool", err)
		}
	})
}

// The server restarts, so that all idle connections of the pool are dead. Connect must return
// a connection that works, and no error.
func TestConnectAfterRestart(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (*testserver.Server, *gorm.DB){
		"postgres": func(t *testing.T) (*testserver.Server, *gorm.DB) {
			t.Helper()
			server := testserver.Postgres(t)
			return server, open(t, postgres.Open(server.URL()))
		},
		"mariadb": func(t *testing.T) (*testserver.Server, *gorm.DB) {
			t.Helper()
			return trusting(t, testserver.MariaDB(t))
		},
		"mysql": func(t *testing.T) (*testserver.Server, *gorm.DB) {
			t.Helper()
			return trusting(t, testserver.MySQL(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, db := start(t)
			store := newStore(db)
			swap(t, store, 1, lease.Record{}, first, true)
			fillPool(t, poolOf(t, db), 5)
			server.Kill()
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			connected, release := connectFor(t, store)
			defer release()
			swap(t, connected, 1, first, second, true)
		})
	}
}

// trusting opens the server's database with a driver that does not check whether an
// idle connection is alive.
func trusting(t *testing.T, server *testserver.Server) (*testserver.Server, *gorm.DB) {
	t.Helper()
	config, err := mysqldriver.ParseDSN("root@tcp(" + server.Address() + ")/test")
	if err != nil {
		t.Fatal(err)
	}
	config.Logger, config.CheckConnLiveness = &mysqldriver.NopLogger{}, false
	return server, open(t, mysql.New(mysql.Config{DSNConfig: config}))
}

// fillPool leaves n idle connections in the pool. It closes them together at its end, because
// the pool would otherwise return the same connection n times.
func fillPool(t *testing.T, pool *sql.DB, n int) {
	t.Helper()
	pool.SetMaxIdleConns(n)
	for range n {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
}

// If a server accepts connections and never answers, Connect gives up after its own timeouts,
// long before its context ends after a minute.
func TestConnectToSilence(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	db := open(t, postgres.Open(server.URL()))
	store := newStore(db)
	swap(t, store, 1, lease.Record{}, first, true)
	server.Pause()
	defer server.Resume()
	began := time.Now()
	_, _, err := store.(lease.Connector).Connect(within(t, time.Minute))
	if took := stall.Took(began); err == nil || took > 20*time.Second {
		t.Errorf("Connect = %v after %v, want an error", err, took)
	} else {
		t.Logf("after %v: %v", took, err)
	}
}

// A driver may not return when the context of a call ends. The store's call then returns
// without waiting for the driver, and no other call may use the connection. release does not
// wait for the driver either. The pool gets the connection back once the driver has returned.
func TestAbandonedCall(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		p := &proxy{}
		storeDB := proxied(t, db, p)
		pool := poolOf(t, storeDB)
		store := newStore(storeDB)
		swap(t, store, 1, lease.Record{}, first, true)
		connected, release := connectFor(t, store)
		stuck := make(chan struct{})
		end := sync.OnceFunc(func() { close(stuck) })
		defer end()
		p.onWrite(func(execute execution) (driver.Result, error) {
			<-stuck
			return execute()
		})
		ctx := within(t, time.Second) // enough for the write to reach the driver
		_, err := connected.CompareAndSwap(ctx, 1, first, second)
		checkLate(t, "CompareAndSwap", ctx, err, "sqllease: no answer after ")
		ctx = within(t, 100*time.Millisecond)
		_, err = connected.Load(ctx)
		checkLate(t, "Load", ctx, err, "the connection still serves a call whose context has ended")
		released := time.Now()
		release()
		if took := stall.Took(released); took > time.Second {
			t.Errorf("release took %v", took)
		}
		if in := pool.Stats().InUse; in != 1 {
			t.Errorf("%d connections are in use while the driver uses one, want 1", in)
		}
		end()
		awaitIdle(t, pool)
		swap(t, store, 1, load(t, store)[1], third, true)
	})
}

// If the connection of a connected store dies during a write, CompareAndSwap fails at once.
// A connected store has no other connection over which it could repeat the write.
func TestConnectionDies(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		p := &proxy{}
		store := newStore(proxied(t, db, p))
		swap(t, store, 1, lease.Record{}, first, true)
		connected, release := connectFor(t, store)
		p.onWrite(func(execution) (driver.Result, error) { return nil, driver.ErrBadConn })
		if _, err := connected.CompareAndSwap(within(t, patience), 1, first, second); !errors.Is(err, driver.ErrBadConn) {
			t.Errorf("CompareAndSwap: %v, want %v", err, driver.ErrBadConn)
		}
		release()
		swap(t, store, 1, first, second, true)
	})
}

// A store with its own pool works while the application's transactions use all
// connections of their pool.
func TestWithPool(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		poolOf(t, db).SetMaxOpenConns(1)
		store := newStore(db, sqllease.WithPool(poolOf(t, reopen(t, db))))
		load(t, store)
		tx := deferred(t, db).Begin()
		defer tx.Rollback()
		swap(t, store, 1, lease.Record{}, first, true)
		if got := load(t, connect(t, store))[1]; got != first {
			t.Errorf("the record is %+v, want %+v", got, first)
		}
	})
}
