package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

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

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), new(bytes.Buffer), ""); err == nil || !strings.Contains(err.Error(), "-dsn postgres://") {
		t.Errorf("run without a URL = %v, want an error that says what -dsn needs", err)
	}
}
