package gormflake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// quiet discards the log of a lease.
var quiet = gormflake.WithLease(lease.WithLogger(plugintest.DiscardLog))

// TestOpen checks that Open alone leases a worker and registers the plugin, that keys
// carry the worker, and that Close releases the worker, after which creates fail.
func TestOpen(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen, err := gormflake.Open(t.Context(), db, quiet)
		if err != nil {
			t.Fatal(err)
		}
		type Note struct {
			gormflake.Model
			Text string
		}
		if err := db.AutoMigrate(&Note{}); err != nil {
			t.Fatal(err)
		}
		note := Note{Text: "a"}
		if err := db.Create(&note).Error; err != nil {
			t.Fatal(err)
		}
		held := gen.Source().(*lease.Lease).Stats()
		if p := gen.Layout().Decompose(note.ID); p.Worker != held.Worker || p.Datacenter != held.Datacenter {
			t.Errorf("key %+v, lease %+v", p, held)
		}
		if err := gen.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if owners := owners(t, db); len(owners) > 0 {
			t.Errorf("held after Close: %v", owners)
		}
		if err := db.Create(&Note{}).Error; !errors.Is(err, snowflake.ErrClosed) {
			t.Errorf("create after Close: %v, want ErrClosed", err)
		}
	})
}

// owners returns the owners of leased workers. It leaves out the row -1, which describes
// the layout, and workers that are released.
func owners(t *testing.T, db *gorm.DB) []string {
	t.Helper()
	var owners []string
	if err := db.Raw("SELECT owner FROM snowflake_workers WHERE worker_id >= 0 AND owner <> '' AND owner NOT LIKE '%/released'").Scan(&owners).Error; err != nil {
		t.Fatal(err)
	}
	return owners
}

// TestOpenOptions checks that the options reach the generator, the lease and the store.
func TestOpenOptions(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	gen, err := gormflake.Open(t.Context(), db, quiet,
		gormflake.WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout())),
		gormflake.WithLease(lease.WithWorker(7)),
		gormflake.WithStore(sqllease.WithNamespace("billing"), sqllease.WithTable("numbers")))
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(context.Background())
	id, err := gen.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if worker := snowflake.JSSafeLayout().Decompose(id).Worker; worker != 7 || id >= 1<<53 {
		t.Errorf("ID %d of worker %d, want one of worker 7 below 2^53", id, worker)
	}
	var n int64
	if err := db.Table("numbers").Where("namespace = ? AND worker_id = 7", "billing").Count(&n).Error; err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestOpenFails checks that Open with a wrong option returns an error that names it,
// holds no worker, and leaves db without the plugin.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts []gormflake.Option
		want string
	}{
		{"nil option", []gormflake.Option{nil}, "option 1 is nil"},
		{"generator's option", []gormflake.Option{gormflake.WithSnowflake(snowflake.WithLag(-1))}, "WithLag(-1ns)"},
		{"lease's option", []gormflake.Option{gormflake.WithLease(lease.WithWorker(99))}, "worker 99 out of range [0, 31]"},
		{"store's option", []gormflake.Option{gormflake.WithStore(sqllease.WithNamespace(""))}, "WithNamespace"},
		{"clock and the lease's", []gormflake.Option{gormflake.WithLease(lease.WithClock(time.Now)), gormflake.WithSnowflake(snowflake.WithClock(time.Now))}, "WithClock with a source that has its own clock"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, testdb.SQLite)
			gen, err := gormflake.Open(t.Context(), db, append(test.opts, quiet)...)
			if gen != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Open = %v, %v, want an error with %q", gen, err, test.want)
			}
			if gen, err = gormflake.Open(t.Context(), db, quiet); err != nil {
				t.Fatalf("again, without the mistake: %v", err)
			}
			defer gen.Close(context.Background())
			if got := owners(t, db); len(got) != 1 {
				t.Errorf("owners %v, want one: the failed Open holds a worker", got)
			}
		})
	}
}

// TestHandleThatWasNotOpened checks that Open and Check return an error, and do not panic,
// for the handle that gorm.Open returns together with an error, and for other handles of
// which parts are missing.
func TestHandleThatWasNotOpened(t *testing.T) {
	t.Parallel()
	type note struct{ ID uint }
	failed, err := gorm.Open(mysql.Open("user@tcp(127.0.0.1:1)/none"), &gorm.Config{Logger: logger.Discard})
	if failed == nil || err == nil {
		t.Fatalf("gorm.Open = %v, %v, want a handle and an error", failed, err)
	}
	for name, db := range map[string]*gorm.DB{
		"nil": nil, "zero": {}, "no dialector": {Config: &gorm.Config{}}, "failed": failed,
	} {
		_, err := gormflake.Open(t.Context(), db, quiet)
		_, listed := gormflake.Open(t.Context(), db, quiet, gormflake.WithModels(&note{}))
		for _, err := range []error{err, listed, gormflake.Check(db, &note{})} {
			if err == nil || !strings.Contains(err.Error(), "db is nil or was not opened: want the handle that gorm.Open returned") {
				t.Errorf("%s: error = %v", name, err)
			}
		}
	}
}

// TestOpenTwice checks that a second Open fails, because its generator would hold a
// worker that no create uses.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	gen, err := gormflake.Open(t.Context(), db, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(context.Background())
	_, err = gormflake.Open(t.Context(), db, quiet)
	if !errors.Is(err, gorm.ErrRegistered) || !strings.Contains(err.Error(), "gormflake: db has the plugin already: share its generator") {
		t.Errorf("error = %v, want ErrRegistered with what to do", err)
	}
	if got := owners(t, db); len(got) != 1 {
		t.Errorf("owners %v, want one", got)
	}
}

// TestOpenRejectsTransaction checks that Open rejects a transaction, because a rollback
// would undo the lease.
func TestOpenRejectsTransaction(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		err := db.Transaction(func(tx *gorm.DB) error {
			_, err := gormflake.Open(t.Context(), tx, quiet)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "transaction") {
			t.Errorf("error = %v, want it to name the transaction", err)
		}
	})
}

// TestNewRejectsOptionsOfOpen checks that New does not ignore options for the lease, the
// store and the generator, which it does not create.
func TestNewRejectsOptionsOfOpen(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]gormflake.Option{
		"WithLease":     gormflake.WithLease(),
		"WithStore":     gormflake.WithStore(),
		"WithSnowflake": gormflake.WithSnowflake(),
	} {
		err := testdb.Open(t, testdb.SQLite).Use(gormflake.New(&plugintest.Counter{}, opt))
		if err == nil || !strings.Contains(err.Error(), name+" is for Open") {
			t.Errorf("error = %v, want it to name %s", err, name)
		}
	}
}

// TestFencedInsideTransactionOnOneConnection checks what happens if the lease's window ends
// inside a transaction that uses the only connection, so that the lease cannot be renewed.
// The generator must return ErrFenced within two seconds instead of waiting for the
// connection, and issue IDs again after the transaction.
func TestFencedInsideTransactionOnOneConnection(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		gen, err := gormflake.Open(t.Context(), db, quiet, gormflake.WithLease(lease.WithWindow(time.Second)))
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close(context.Background())
		err = db.Transaction(func(*gorm.DB) error {
			time.Sleep(1100 * time.Millisecond) // longer than the window
			start := time.Now()
			_, err := gen.Next(t.Context())
			if took := stall.Took(start); took > 2*time.Second {
				t.Errorf("answered after %v", took)
			}
			return err
		})
		if !errors.Is(err, snowflake.ErrFenced) {
			t.Errorf("inside the transaction: %v, want ErrFenced", err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if _, err = gen.Next(t.Context()); err == nil || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			t.Errorf("after the transaction: %v", err)
		}
	})
}

// TestOpenReplicas checks that many replicas can issue IDs concurrently, each under a
// different worker.
func TestOpenReplicas(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		const replicas = 8
		keys := make([][]types.ID, replicas)
		var wg sync.WaitGroup
		for i := range replicas {
			// A plugin belongs to one gorm.DB, so each replica has a separate handle.
			handle, err := gorm.Open(db.Dialector, &gorm.Config{ConnPool: db.ConnPool, Logger: db.Logger})
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				gen, err := gormflake.Open(t.Context(), handle, quiet)
				if err != nil {
					t.Error(err)
					return
				}
				defer gen.Close(context.Background())
				keys[i] = make([]types.ID, 10_000)
				if err := gen.Fill(t.Context(), keys[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		all := slices.Concat(keys...)
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != replicas*10_000 {
			t.Errorf("%d distinct keys of %d", n, replicas*10_000)
		}
	})
}
