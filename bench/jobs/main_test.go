package main_test

import (
	"os/exec"
	"strings"
	"testing"

	"gorm.io/driver/postgres"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestCommand runs the command with ten jobs, of which the command kills one. No other job
// may fail. The killed job cannot release its worker, so one worker is still held after the
// last job, and none after the window of its lease.
func TestCommand(t *testing.T) {
	t.Parallel()
	dsn := testdb.Open(t, testdb.Postgres).Dialector.(*postgres.Dialector).DSN
	out, err := exec.CommandContext(t.Context(), "go", "run", ".", "-dsn", dsn,
		"-jobs", "10", "-within", "1s", "-work", "1s", "-window", "3s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if !strings.Contains(string(out), ", 0 failed; ") || !strings.Contains(string(out), ", 1 after the last job, none ") {
		t.Errorf("got %s, want no job that failed, and one worker left", out)
	}
}
