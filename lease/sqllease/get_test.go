package sqllease_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// Get returns the records of the given keys, and the server's time even if there is no
// record.
func TestGet(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		wantGet(t, store, []int{7}, map[int]lease.Record{})
		all := map[int]lease.Record{}
		for key := -1; key < 100; key += 3 {
			all[key] = lease.Record{Bound: int64(key), Owner: "owner"}
			swap(t, store, key, lease.Record{}, all[key], true)
		}
		swap(t, newStore(db, sqllease.WithNamespace("other")), 3, lease.Record{}, first, true)
		for _, count := range []int{1, 2, 3, 39, 40, 41, 90} {
			keys, want := []int{}, map[int]lease.Record{}
			for key := -1; len(keys) < count; key++ {
				keys = append(keys, key)
				if r, ok := all[key]; ok {
					want[key] = r
				}
			}
			wantGet(t, store, keys, want)
			wantGet(t, connect(t, store), keys, want)
		}
	})
}

// wantGet expects these records, and the time if the store is a lease.Clock.
func wantGet(t *testing.T, store lease.Store, keys []int, want map[int]lease.Record) {
	t.Helper()
	got, now, err := store.(lease.Getter).Get(within(t, patience), keys)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("Get(%v) = %v, %v, want %v", keys, got, err, want)
	}
	if _, clock := store.(lease.Clock); !clock && !now.IsZero() || clock && time.Since(now).Abs() > time.Minute {
		t.Errorf("Get(%v) returns the time %v", keys, now)
	}
}

// Get sends the same text for any number of keys. With one text for each number, pgx
// would prepare and keep as many statements.
func TestGetHasOneText(t *testing.T) {
	t.Parallel()
	var statements galeraStatements
	p := &proxy{rewrite: func(statement string) string { statements.rewrite(statement); return statement }}
	store := newStore(proxied(t, testdb.Open(t, testdb.Postgres), p)).(lease.Getter)
	texts := map[string]bool{}
	for count := 1; count <= 40; count++ {
		if _, _, err := store.Get(within(t, patience), make([]int, count)); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range statements.take() {
		if strings.HasPrefix(statement, "SELECT worker_id") {
			texts[statement] = true
		}
	}
	if len(texts) != 1 {
		t.Errorf("1 to 40 keys are read by %d statements, want one", len(texts))
	}
}

// Get refuses the answer of a standby, which may lag.
func TestGetRefusesStandby(t *testing.T) {
	t.Parallel()
	store := newStore(replacing("pg_is_in_recovery()", "true")(t, testdb.Open(t, testdb.Postgres)))
	const want = "sqllease: the server is a standby, which lags: want a DSN that leads to the primary (target_session_attrs=read-write)"
	if records, _, err := store.(lease.Getter).Get(within(t, patience), []int{1}); errorText(err) != want {
		t.Errorf("Get = %v, %v, want %s", records, err, want)
	}
}

// A store lets 16 claims of a process work at once. The 17th claim waits until one of
// them has left.
func TestEnter(t *testing.T) {
	t.Parallel()
	queue := newStore(testdb.Open(t, testdb.SQLite)).(lease.Queue)
	leave := enter(t, queue)
	for range 15 {
		enter(t, queue)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := queue.Enter(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Enter where no turn is free: %v, want it to wait until its context ends", err)
	}
	time.AfterFunc(50*time.Millisecond, leave)
	enter(t, queue)
}

// enter waits for a turn, and returns the function that ends the turn. It fails the test if it
// gets no turn.
func enter(t *testing.T, queue lease.Queue) (leave func()) {
	t.Helper()
	leave, err := queue.Enter(within(t, patience))
	if err != nil {
		t.Errorf("Enter: %v", err)
		return func() {}
	}
	return leave
}

// The table has grown to 10,000 rows. Get of 33 keys must take at most a quarter of the time
// of Load, because Get must not read all rows. A server may keep a plan that it made while
// the table was empty. So the test first runs the statement ten times on the empty table over
// one connection, because PostgreSQL keeps a plan from the sixth time on.
func TestGetOfMany(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		limitPool(t, db, 1) // because each connection has plans of its own
		store := newStore(db)
		keys := make([]int, 33)
		for i := range keys {
			keys[i] = i * 300
		}
		get := func() { wantGet(t, store, keys, map[int]lease.Record{}) }
		for range 10 {
			get()
		}
		const digit = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
		run(t, db, "INSERT INTO snowflake_workers SELECT 'default', 10000 + 1000 * a.n + 100 * b.n + 10 * c.n + d.n, 1, '' FROM "+
			digit+" a, "+digit+" b, "+digit+" c, "+digit+" d")
		some, all := time.Hour, time.Hour
		for range 10 { // tries, because a busy machine slows a short call more than a long one
			some, all = min(some, fastest(get)), min(all, fastest(func() { load(t, store) }))
			if some <= all/4 {
				return
			}
		}
		t.Errorf("Get of 33 records takes %v, and Load of 10,000 %v", some, all)
	})
}

// fastest returns the shortest time of 20 calls.
func fastest(do func()) time.Duration {
	best := time.Hour
	for range 20 {
		began := time.Now()
		do()
		best = min(best, time.Since(began))
	}
	return best
}
