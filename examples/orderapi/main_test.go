package main

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// use prepares an empty database as run does.
func use(t *testing.T, db *gorm.DB) {
	t.Helper()
	gen, err := gormflake.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gen.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := prepare(db); err != nil {
		t.Fatal(err)
	}
}

// TestRunOnServer starts run with the DSN of each server, and stops it. Run succeeds only if
// it chooses the dialect that fits the DSN.
func TestRunOnServer(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, ended := startServer(ctx, t, testdb.DSN(t, target))
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// wantRows checks the number of rows of the model.
func wantRows(t *testing.T, db *gorm.DB, model any, want int64) {
	t.Helper()
	var got int64
	if err := db.Model(model).Count(&got).Error; err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%T: %d rows, want %d", model, got, want)
	}
}
