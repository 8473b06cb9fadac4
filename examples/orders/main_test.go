package main

import (
	"bytes"
	"log"
	"os"
	"strings"
	"testing"

	"gorm.io/driver/mysql"

	"github.com/gormflake/gormflake/internal/testdb"
)

func TestRun(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp) // the same on Windows
	out := output(t, "")
	for _, want := range []string{
		"1000 orders of 10 lines each, in a sqlite database",
		"1. Create", "2. Assign, then batched", "3. Assign, then pgx.CopyFrom", "needs PostgreSQL: add -dsn postgres://",
		`  "id": "2`, `"customer": "customer 0"`, "issued: 20", "JavaScript would read it as 2", "-serve :8080",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "10000 lines stored"); n != 2 {
		t.Errorf("%d ways stored all lines, want 2:\n%s", n, out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRunOnServer(t *testing.T) {
	t.Parallel()
	for target, ways := range map[testdb.Target]int{testdb.MySQL: 2, testdb.Postgres: 3} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			out := output(t, testdb.URL(t, target))
			if n := strings.Count(out, "10000 lines stored"); n != ways {
				t.Errorf("%d ways stored all lines, want %d:\n%s", n, ways, out)
			}
		})
	}
}

func output(t *testing.T, dsn string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), dsn, "", log.New(&out, "", 0)); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

func TestDialectorOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, dsn, want string }{
		{"nothing", "", "sqlite"},
		{"PostgreSQL", "postgres://app:secret@host/db", "postgres"},
		{"its other scheme", "postgresql://app:secret@host/db", "postgres"},
		{"MySQL", "mysql://app:secret@host/db", "mysql"},
		{"unknown scheme", "oracle://app:secret@host/db", ""},
		{"no URL", "app:secret@tcp(host)/db", ""},
		{"control character", "postgres://app:secret\x7f@host/db", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := dialectorOf(test.dsn, "orders.db")
			switch {
			case test.want == "" && (err == nil || !strings.Contains(err.Error(), "want postgres://") || strings.Contains(err.Error(), "secret")):
				t.Errorf("got %v, want an error that names the forms and no password", err)
			case test.want != "" && (err != nil || got.Name() != test.want):
				t.Errorf("got %v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestMySQLURL(t *testing.T) {
	t.Parallel()
	got, err := dialectorOf("mysql://app:p%40ss@db.example:3307/shop?timeout=3s", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := got.(*mysql.Dialector).DSN, "app:p@ss@tcp(db.example:3307)/shop?parseTime=true&timeout=3s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
