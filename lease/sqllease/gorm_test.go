package sqllease_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// Settings of the application's GORM handles do not affect the store.
func TestSettingsOfGORM(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name   string
		handle func(t *testing.T, db *gorm.DB) *gorm.DB
	}{
		{"dry run", session(&gorm.Session{DryRun: true})},
		{"prepared statements", session(&gorm.Session{PrepareStmt: true})},
		{"context ended", session(&gorm.Session{Context: cancelled})},
		{"statement", func(_ *testing.T, db *gorm.DB) *gorm.DB { return db.Table("orders").Where("1 = 0").Limit(0) }},
		{"session of a statement", func(_ *testing.T, db *gorm.DB) *gorm.DB {
			return db.Table("orders").Where("1 = 0").Session(&gorm.Session{})
		}},
		{"unscoped", func(_ *testing.T, db *gorm.DB) *gorm.DB { return db.Unscoped() }},
		{"debug", func(_ *testing.T, db *gorm.DB) *gorm.DB { return db.Debug() }},
		{"error", func(_ *testing.T, db *gorm.DB) *gorm.DB {
			db = db.Session(&gorm.Session{})
			_ = db.AddError(errors.New("an error before"))
			return db
		}},
		{"callbacks that refuse", refusing},
		{"one connection", onlyConnection},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *gorm.DB) {
				store := newStore(test.handle(t, db))
				swap(t, store, 1, lease.Record{}, first, true)
				swap(t, store, 1, first, second, true)
				if got := load(t, newStore(reopen(t, db)))[1]; got != second {
					t.Errorf("the record is %+v, want %+v", got, second)
				}
			})
		})
	}
}

// The application's handle prepares its statements. GORM must prepare no statement of the
// store, because prepared statements fail through poolers that do not keep them.
func TestPreparedStatements(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		swap(t, store, 1, lease.Record{}, first, true)
		swap(t, store, 1, first, second, true)
		if got := load(t, store)[1]; got != second {
			t.Errorf("the record is %+v, want %+v", got, second)
		}
		if prepared, ok := db.ConnPool.(*gorm.PreparedStmtDB); !ok || len(prepared.Stmts.Keys()) != 0 {
			t.Errorf("the pool is a %T, and GORM has prepared statements for the store", db.ConnPool)
		}
	}, &gorm.Config{PrepareStmt: true, SkipDefaultTransaction: true, TranslateError: true})
}

// session returns a function that returns a session of a handle, with these settings.
func session(s *gorm.Session) func(*testing.T, *gorm.DB) *gorm.DB {
	return func(_ *testing.T, db *gorm.DB) *gorm.DB { return db.Session(s) }
}

// refusing registers callbacks that make every operation of GORM fail.
func refusing(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	refuse := func(tx *gorm.DB) { _ = tx.AddError(errors.New("a callback saw the store")) }
	callback := db.Callback()
	for _, err := range []error{
		callback.Create().Before("*").Register("refuse", refuse),
		callback.Query().Before("*").Register("refuse", refuse),
		callback.Update().Before("*").Register("refuse", refuse),
		callback.Delete().Before("*").Register("refuse", refuse),
		callback.Row().Before("*").Register("refuse", refuse),
		callback.Raw().Before("*").Register("refuse", refuse),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// onlyConnection returns a handle that outlives the connection for which it was made.
func onlyConnection(t *testing.T, db *gorm.DB) (handle *gorm.DB) {
	t.Helper()
	if err := db.Connection(func(tx *gorm.DB) error {
		handle = tx
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return handle
}
