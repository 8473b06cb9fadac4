package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// If a phase cannot change a table, apply says so and exits with the code for findings.
// Another apply, which then has nothing else to do, must report the same. Here phase guard
// adds a trigger that rejects keys that are not positive, and leaves out the table, because it
// has a key 0.
func TestApplyLeavesUndone(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Execute(t, clitest.Open(t, url), "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO orders VALUES (0)")
	const want = "phase guard has left out table orders: column id of table orders: it holds key 0"
	apply := func(phases string) clitest.Outcome {
		return clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", phases, "orders")
	}
	clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "orders"), clitest.Findings, "Left undone\n  phase guard, column id of table orders, of orders: it holds key 0", "")
	if got := apply("detach"); got.Code != clitest.OK || strings.Contains(got.Err, "key 0") {
		t.Errorf("detach: code %d\n%s", got.Code, got.Err)
	}
	clitest.WantOutcome(t, apply("detach,guard"), clitest.Findings, "applied: guard\n", want)
	clitest.WantOutcome(t, apply("detach,guard"), clitest.Findings, "nothing to do: ", want)
	clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--json", "orders"), clitest.Findings, `"phase": "guard"`, "")
}

// On MariaDB and MySQL, phase guard cannot run before phase detach. apply must report this
// before it changes or saves anything.
func TestApplyGuardBeforeDetach(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			url := testdb.URL(t, target)
			clitest.Shop(t, url)
			before := clitest.Schema(t, url)
			got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "widen,guard", "orders")
			clitest.WantOneLine(t, got, "phase guard is blocked by phase detach")
			if after := clitest.Schema(t, url); after != before {
				t.Errorf("after the refusal:\n%s\nwant what was before:\n%s", after, before)
			}
		})
	}
}

// Before apply asks, it prints the first steps of a phase that has many, and the number of
// the further steps, so that the question is still on the screen.
func TestApplyShowsFirstSteps(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	args := []string{"migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "detach"}
	for n := range 23 {
		table := fmt.Sprintf("t%02d", n)
		clitest.Execute(t, clitest.Open(t, url), "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY AUTOINCREMENT)")
		args = append(args, table)
	}
	got := clitest.Command(t, args...)
	before, _, _ := strings.Cut(got.Err, "  and 3 steps: see \"gormflake migrate plan --details\"\n")
	if n := strings.Count(before, "    locks: "); n != 20 || got.Code != clitest.OK {
		t.Errorf("code %d, %d of 23 steps before the number of the others, want 20:\n%s", got.Code, n, got.Err)
	}
}
