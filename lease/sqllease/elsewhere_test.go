package sqllease_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// eachRefusal runs test for every error by which a server refuses a statement that another
// server would accept.
func eachRefusal(t *testing.T, test func(t *testing.T, db *gorm.DB, refusal error)) {
	t.Helper()
	for target, texts := range map[testdb.Target][]string{
		testdb.MySQL: {
			"Error 1047 (08S01): WSREP has not yet prepared node for application use",
			"Error 1290 (HY000): The MySQL server is running with the --read-only option so it cannot execute this statement",
			"Error 1205 (HY000): Lock wait timeout exceeded; try restarting transaction", // a lost node, for a synchronous read
			"Error 1836 (HY000): Running in read-only mode",
		},
		testdb.Postgres: {"25006"},
	} {
		for _, text := range texts {
			for _, target := range testdb.Alike(target) {
				t.Run(string(target)+" "+text, func(t *testing.T) {
					t.Parallel()
					test(t, testdb.Open(t, target), stateError(text))
				})
			}
		}
	}
}

// loseFirst returns a function for proxy.loseServers. With it, each statement on one of the
// first n connections fails with err.
func loseFirst(n int, err error) func(int) error {
	return func(connection int) error {
		if connection > n {
			return nil
		}
		return err
	}
}

// A connection to a node that has left its cluster, or to a primary that has become a
// standby, leaves the pool, so that the next call uses another connection.
func TestLostServerLeavesThePool(t *testing.T) {
	t.Parallel()
	eachRefusal(t, func(t *testing.T, db *gorm.DB, refusal error) {
		p := &proxy{}
		storeDB := proxied(t, db, p)
		store := newStore(storeDB)
		swap(t, store, 1, lease.Record{}, first, true)
		lost := p.connections
		p.loseServers(loseFirst(lost, refusal))
		swap(t, store, 1, first, second, true)
		if got := load(t, store)[1]; got != second {
			t.Errorf("the record is %+v, want %+v", got, second)
		}
		if open := poolOf(t, storeDB).Stats().OpenConnections; p.connections != lost+1 || open != 1 {
			t.Errorf("%d connections were made and %d are open, want %d and 1: the lost one has left", p.connections, open, lost+1)
		}
	})
}

// A connected store cannot move from a lost server to another connection. Its call fails,
// and the next Connect returns a connection to another server.
func TestLostServerOfOneConnection(t *testing.T) {
	t.Parallel()
	eachRefusal(t, func(t *testing.T, db *gorm.DB, refusal error) {
		p := &proxy{}
		store := newStore(proxied(t, db, p))
		swap(t, store, 1, lease.Record{}, first, true)
		connected, release := connectFor(t, store)
		p.loseServers(loseFirst(p.connections, refusal))
		if written, err := connected.CompareAndSwap(within(t, patience), 1, first, second); written || !errors.Is(err, refusal) {
			t.Errorf("CompareAndSwap = %v, %v, want %v", written, err, refusal)
		}
		release()
		swap(t, connect(t, store), 1, first, second, true)
	})
}

// If every server refuses the statements, the store returns the servers' error after a few
// attempts, and not only when its context ends.
func TestEveryServerRefuses(t *testing.T) {
	t.Parallel()
	eachRefusal(t, func(t *testing.T, db *gorm.DB, refusal error) {
		p := &proxy{}
		store := newStore(proxied(t, db, p))
		load(t, store)
		p.loseServers(func(int) error { return refusal })
		_, err := store.Load(within(t, patience))
		if !errors.Is(err, refusal) || strings.Contains(err.Error(), "no answer") {
			t.Errorf("Load: %v, want %v", err, refusal)
		}
	})
}

// If every server refuses new connections, the store returns the servers' error after a few
// attempts. It must not dial again and again, which would burden a cluster that is in trouble.
func TestEveryServerRefusesConnections(t *testing.T) {
	t.Parallel()
	eachRefusal(t, func(t *testing.T, db *gorm.DB, refusal error) {
		p := &proxy{}
		storeDB := proxied(t, db, p)
		store := newStore(storeDB)
		load(t, store)
		poolOf(t, storeDB).SetMaxIdleConns(0) // closes the idle connection
		p.refuseDials(refusal)
		if _, _, err := store.(lease.Connector).Connect(within(t, patience)); !errors.Is(err, refusal) {
			t.Errorf("Connect: %v, want %v", err, refusal)
		}
		if p.dials > 20 {
			t.Errorf("the store has dialed %d times, want a few", p.dials)
		}
	})
}

// A node that loses its cluster during a COMMIT may still apply the write. The store must
// return the node's error. It must neither return true nor repeat the write.
func TestCutOffCommitIsUnknown(t *testing.T) {
	t.Parallel()
	p := &proxy{}
	store := newStore(proxied(t, testdb.Open(t, testdb.MariaDB), p))
	swap(t, store, 1, lease.Record{}, first, true)
	p.onWrite(func(execute func() (driver.Result, error)) (driver.Result, error) {
		return ignore(execute, stateError(`Error 1180 (HY000): Got error 6 "Not connected to Primary Component" during COMMIT`))
	})
	written, err := store.CompareAndSwap(within(t, patience), 1, first, second)
	if written || err == nil || !strings.Contains(err.Error(), "1180") {
		t.Errorf("CompareAndSwap = %v, %v, want the server's error", written, err)
	}
	if got := load(t, store)[1]; got != second {
		t.Errorf("the record is %+v, want %+v, written once", got, second)
	}
}
