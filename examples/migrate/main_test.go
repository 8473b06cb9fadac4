package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestRun checks that the move ends on each database while programs write, and that no line
// loses its order. On PostgreSQL, the phases and the programs must not deadlock.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			dsn := "" // a temporary SQLite file
			if target != testdb.SQLite {
				dsn = testdb.DSN(t, target)
			}
			var out bytes.Buffer
			if err := run(t.Context(), &out, dsn, 500*time.Millisecond); err != nil {
				t.Fatalf("%v:\n%s", err, &out)
			}
			if target == testdb.Postgres && strings.Contains(out.String(), "deadlock") {
				t.Errorf("the phases and the programs have waited for each other:\n%s", &out)
			}
			for _, want := range []string{
				`Phase detach`,
				`widen took `, `detach took `, `guard took `,
				`  before: [1-9]\d* orders written`,
				` 0 lines without their order`,
				`nothing is left to do`,
			} {
				if !regexp.MustCompile(want).MatchString(out.String()) {
					t.Errorf("output does not say %q:\n%s", want, &out)
				}
			}
		})
	}
}
