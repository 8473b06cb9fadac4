package database_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// first and second are records of worker 1, of which the second replaces the first.
var (
	first  = lease.Record{Bound: 1000, Owner: "first"}
	second = lease.Record{Bound: 2000, Owner: "second"}
)

// files are the paths of the databases of a test. root is the database that gorm.Open
// receives. The resolver sends writes to source and reads to replica.
type files struct {
	root, source, replica string
}

// newFiles returns the paths of databases that do not exist yet.
func newFiles(t *testing.T) files {
	t.Helper()
	dir := t.TempDir()
	return files{filepath.Join(dir, "root.db"), filepath.Join(dir, "source.db"), filepath.Join(dir, "replica.db")}
}

// dialector returns the dialector of the SQLite file at the path.
func dialector(t *testing.T, path string) gorm.Dialector {
	t.Helper()
	d, err := dsn.Open("sqlite://" + path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// open opens the root database with the resolver, which the caller has set up with the source
// and the replica. They are different databases, and not copies of one another, so that a
// test sees which of them received a statement.
func (f files) open(t *testing.T, config *gorm.Config, resolver dbresolver.Config) *gorm.DB {
	t.Helper()
	config.Logger = logger.Discard
	db, err := gorm.Open(dialector(t, f.root), config)
	if err != nil {
		t.Fatal(err)
	}
	plugin := dbresolver.Register(resolver)
	if err := db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plugin.Call(closePool) })
	t.Cleanup(func() { _ = closePool(db.ConnPool) })
	return db
}

// closePool closes a pool of the resolver, also behind GORM's cache of prepared statements.
func closePool(pool gorm.ConnPool) error {
	switch pool := pool.(type) {
	case interface{ Close() error }:
		return pool.Close()
	case *gorm.PreparedStmtDB:
		return closePool(pool.ConnPool)
	}
	return nil
}

// TestLeaseWithDBResolver checks that the store of leases uses the database that gorm.Open
// received, even if the handle is for reads, writes or prepared statements. A replica could
// return an older record of a lease than its source has.
func TestLeaseWithDBResolver(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(*gorm.DB) *gorm.DB{
		"root":               func(db *gorm.DB) *gorm.DB { return db },
		"read":               func(db *gorm.DB) *gorm.DB { return db.Clauses(dbresolver.Read) },
		"write":              func(db *gorm.DB) *gorm.DB { return db.Clauses(dbresolver.Write) },
		"read, in a session": func(db *gorm.DB) *gorm.DB { return db.Clauses(dbresolver.Read).Session(&gorm.Session{}) },
		"read, prepared": func(db *gorm.DB) *gorm.DB {
			return db.Clauses(dbresolver.Read).Session(&gorm.Session{PrepareStmt: true})
		},
		"prepared, then read": func(db *gorm.DB) *gorm.DB {
			return db.Session(&gorm.Session{PrepareStmt: true}).Clauses(dbresolver.Read)
		},
		"after a query":      func(db *gorm.DB) *gorm.DB { db.Raw("SELECT 1").Scan(new(int)); return db },
		"of a chained query": func(db *gorm.DB) *gorm.DB { tx := db.Table("sqlite_master"); tx.Find(&[]map[string]any{}); return tx },
	} {
		for _, prepare := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", PrepareStmt"}[prepare], func(t *testing.T) {
				t.Parallel()
				f := newFiles(t)
				db := f.open(t, &gorm.Config{PrepareStmt: prepare}, dbresolver.Config{
					Sources:  []gorm.Dialector{dialector(t, f.source), dialector(t, f.source+"2")},
					Replicas: []gorm.Dialector{dialector(t, f.replica), dialector(t, f.replica+"2")},
				})
				store := sqllease.New(handle(db))
				swap(t, store, lease.Record{}, first)
				swap(t, store, first, second)
				if records, err := store.Load(t.Context()); err != nil || records[1] != second {
					t.Errorf("Load = %v, %v, want %+v", records, err, second)
				}
				for path, want := range map[string]bool{
					f.root: true, f.source: false, f.source + "2": false, f.replica: false, f.replica + "2": false,
				} {
					if got := hasTable(t, path); got != want {
						t.Errorf("%s has the table: %v, want %v", filepath.Base(path), got, want)
					}
				}
			})
		}
	}
}

// TestLeaseWithReplicasOnly checks that the store writes to the root, which is the source of
// a resolver without sources, and not to its replica.
func TestLeaseWithReplicasOnly(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	db := f.open(t, &gorm.Config{}, dbresolver.Config{Replicas: []gorm.Dialector{dialector(t, f.replica)}})
	store := sqllease.New(db)
	swap(t, store, lease.Record{}, first)
	var bound int64
	err := db.Clauses(dbresolver.Write).Raw("SELECT bound FROM snowflake_workers").Scan(&bound).Error
	if err != nil || bound != first.Bound {
		t.Errorf("the resolver's source shows the bound %d (%v), want %d", bound, err, first.Bound)
	}
	if hasTable(t, f.replica) {
		t.Error("the replica has the table")
	}
}

// TestLeaseInTransactionOfDBResolver checks that a store on a transaction returns an error,
// because a rollback would revert its leases. A store on the database beside the transaction
// is not affected.
func TestLeaseInTransactionOfDBResolver(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	db := f.open(t, &gorm.Config{}, dbresolver.Config{
		Sources: []gorm.Dialector{dialector(t, f.source)}, Replicas: []gorm.Dialector{dialector(t, f.replica)},
	})
	rollback := errors.New("rollback")
	err := db.Clauses(dbresolver.Write).Transaction(func(tx *gorm.DB) error {
		if records, err := sqllease.New(tx).Load(t.Context()); err == nil {
			t.Errorf("Load on a transaction = %v, want an error", records)
		}
		swap(t, sqllease.New(db), lease.Record{}, first)
		return rollback
	})
	if !errors.Is(err, rollback) {
		t.Fatal(err)
	}
	if records, err := sqllease.New(db).Load(t.Context()); err != nil || records[1] != first {
		t.Errorf("after the rollback, Load = %v, %v, want %+v", records, err, first)
	}
}

// swap replaces the record of worker 1.
func swap(t *testing.T, store lease.Store, from, to lease.Record) {
	t.Helper()
	if written, err := store.CompareAndSwap(context.Background(), 1, from, to); err != nil || !written {
		t.Fatalf("CompareAndSwap(%+v, %+v) = %v, %v, want true", from, to, written, err)
	}
}

// hasTable reports whether the database has a table of workers.
func hasTable(t *testing.T, path string) bool {
	t.Helper()
	db, err := gorm.Open(dialector(t, path), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closePool(db.ConnPool) }()
	return db.Migrator().HasTable("snowflake_workers")
}
