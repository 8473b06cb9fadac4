package main_test

import (
	"os/exec"
	"strings"
	"testing"

	"gorm.io/driver/postgres"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestCommand runs the command with 40 leases. The command prints a row for each start of the
// leases, and for the time in which they are held. In the four rows of the test, the 40
// leases must have different workers, and no attempt may have failed.
func TestCommand(t *testing.T) {
	t.Parallel()
	dsn := testdb.Open(t, testdb.Postgres).Dialector.(*postgres.Dialector).DSN
	out, err := exec.CommandContext(t.Context(), "go", "run", ".", "-dsn", dsn,
		"-leases", "40", "-connections", "4", "-window", "3s", "-hold", "3s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, row := range []string{
		"start, on an empty table", "hold, on an empty table", "start, after all were released", "start, after all were killed",
	} {
		cells := strings.Split(line(string(out), "| "+row), " | ")
		// The cells are the name, the seconds, the workers and the failed attempts.
		if len(cells) < 4 || cells[2] != "40" || cells[3] != "0" {
			t.Errorf("%s: %q, want 40 workers and no attempt that failed", row, cells)
		}
	}
}

// line returns the line of the text that begins with the prefix.
func line(text, prefix string) string {
	_, rest, _ := strings.Cut(text, prefix)
	first, _, _ := strings.Cut(rest, "\n")
	return prefix + first
}
