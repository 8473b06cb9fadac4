package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestRun checks that the program copies 1,000 orders of 10 lines each, and that the lines of
// the order that it prints are in the table.
func TestRun(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	var out bytes.Buffer
	if err := run(t.Context(), &out, testdb.PostgresURL(t, db)); err != nil {
		t.Fatal(err)
	}
	if want := "Copied 1000 orders and 10000 lines "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("output does not begin with %q:\n%s", want, &out)
	}
	shown := regexp.MustCompile(`order (\d+) of customer 999:`).FindStringSubmatch(out.String())
	if shown == nil {
		t.Fatalf("output lacks the last order:\n%s", &out)
	}
	if n := strings.Count(out.String(), "\n  line "); n != 10 {
		t.Errorf("%d lines shown, want 10:\n%s", n, &out)
	}
	var lines int64
	err := db.Model(&Line{}).Where("order_id = ?", types.MustParseID(shown[1])).Count(&lines).Error
	if err != nil || lines != 10 {
		t.Errorf("%d lines of the shown order in the table, %v, want 10", lines, err)
	}
}

// TestNoDatabase checks that the program explains which database it needs, if it gets none.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), new(bytes.Buffer), ""); err == nil || !strings.Contains(err.Error(), "-dsn postgres://") {
		t.Errorf("run without a URL = %v, want an error that says what -dsn needs", err)
	}
}

// TestFailedCopyLeavesNothing checks that a failed COPY stores no rows, and that the same
// orders can be inserted once the row is valid.
func TestFailedCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	gen, err := gormflake.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		t.Fatal(err)
	}
	orders := sample()[:3]
	last := &orders[2].Lines[1]
	orders[0].Lines[0].ID, last.ID = 7, 7 // the mistake, which makes COPY fail
	if err := insert(db, orders); err == nil {
		t.Fatal("two lines with one key were stored")
	}
	wantRows(t, db, &Order{}, 0)
	wantRows(t, db, &Line{}, 0)

	first := orders[0].ID
	last.ID = 0
	if err := insert(db, orders); err != nil {
		t.Fatal(err)
	}
	if orders[0].ID != first {
		t.Errorf("key of the first order: got %d, want %d as before", orders[0].ID, first)
	}
	wantRows(t, db, &Line{}, 30)
}

// wantRows checks the number of rows of the model.
func wantRows(t *testing.T, db *gorm.DB, model any, want int64) {
	t.Helper()
	var got int64
	if err := db.Model(model).Count(&got).Error; err != nil || got != want {
		t.Errorf("%T: %d rows, %v, want %d", model, got, err, want)
	}
}
