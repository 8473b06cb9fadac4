package sqllease_test

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"gorm.io/driver/sqlite"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// childVariable is the environment variable that gives a child process the file. Each
// child raises the bound childSwaps times.
const (
	childVariable = "SQLLEASE_TEST_DSN"
	childSwaps    = 100
)

// Processes that write to one SQLite file at once lose no write, even without a busy
// timeout, because the store repeats a statement that finds the file locked.
func TestProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	dsn := sqliteWith("busy_timeout(5000)", "busy_timeout(0)")(t, db).(*sqlite.Dialector).DSN
	// A read opens the index of the WAL. Otherwise the first process recovers it, and
	// SQLite refuses other processes that open the file then (SQLITE_BUSY_RECOVERY).
	if err := db.Exec("SELECT count(*) FROM sqlite_master").Error; err != nil {
		t.Fatal(err)
	}
	const processes = 3
	var wg sync.WaitGroup
	for range processes {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessesOnOneFileChild$", "-test.count=1")
		child.Env = append(os.Environ(), childVariable+"="+dsn)
		wg.Go(func() {
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
	wg.Wait()
	if got := load(t, newStore(db))[1].Bound; got != processes*childSwaps {
		t.Errorf("the bound is %d after %d processes raised it %d times each", got, processes, childSwaps)
	}
}

// TestProcessesOnOneFileChild is one of the processes of TestProcessesOnOneFile.
func TestProcessesOnOneFileChild(t *testing.T) {
	dsn := os.Getenv(childVariable)
	if dsn == "" {
		t.Skip("started by TestProcessesOnOneFile")
	}
	store := newStore(open(t, sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: dsn})))
	for swaps := 0; swaps < childSwaps; {
		from := load(t, store)[1]
		to := lease.Record{Bound: from.Bound + 1, Owner: strconv.Itoa(os.Getpid())}
		written, err := store.CompareAndSwap(within(t, patience), 1, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if written {
			swaps++
		}
	}
}
