package main

import (
	"bytes"
	"log"
	"os"
	"strings"
	"testing"

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
	for target, ways := range map[testdb.Target]int{testdb.MariaDB: 2, testdb.MySQL: 2, testdb.Postgres: 3} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			out := output(t, testdb.DSN(t, target))
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
