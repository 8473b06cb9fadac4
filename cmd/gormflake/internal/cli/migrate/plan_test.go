package migrate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// The summary leaves out the steps. --details begins with the summary. --sql and --json
// have the same statements, and cannot be used together. On MySQL, which has no
// transactions for such statements, the SQL has no BEGIN. The JSON lists audit.order_id as
// a likely reference to the key of orders, because the column is too narrow for big keys.
// On SQLite that list is empty, because every integer column there holds 64 bits.
func TestMigratePlanForms(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		plan := func(flags ...string) string {
			t.Helper()
			got := clitest.Command(t, append(append([]string{"migrate", "plan", "--dsn", url}, flags...), "orders")...)
			if got.Code != clitest.Findings || got.Err != "" {
				t.Fatalf("%q: code %d, %s", flags, got.Code, got.Err)
			}
			return got.Out
		}
		summary, details, sql := plan(), plan("--details"), plan("--sql")
		if strings.Contains(summary, "locks:") || !strings.Contains(summary, "\nSummary\n  tables: ") || !strings.Contains(summary, "longest lock: ") {
			t.Errorf("the summary:\n%s", summary)
		}
		if !strings.Contains(details, "    locks: ") || !strings.HasPrefix(details, strings.Split(summary, "\nTables")[0]) {
			t.Errorf("the details:\n%s\nwant the summary first:\n%s", details, summary)
		}
		if !strings.Contains(sql, "\n-- orders: ") || !strings.Contains(sql, "\n--   locks: ") || strings.Contains(sql, "BEGIN;") == (db.Name() == "mysql") {
			t.Errorf("the SQL:\n%s", sql)
		}
		var form struct {
			Dialect string
			Summary struct {
				Tables, Statements int
				LongestLockMS      *int64 `json:"longest_lock_ms"`
			}
			Likely []struct {
				Column string
				Keys   []string
			} `json:"likely_references"`
			Blockers, Notes []any
			Phases          []struct {
				Steps []struct {
					Locks string
					Up    []struct{ SQL string }
				}
			}
		}
		if err := json.Unmarshal([]byte(plan("--json")), &form); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, phase := range form.Phases {
			for _, step := range phase.Steps {
				for _, s := range step.Up {
					if n++; !strings.Contains(sql, "\n"+s.SQL+";\n") {
						t.Errorf("the SQL lacks %s:\n%s", s.SQL, sql)
					}
				}
			}
		}
		if form.Dialect != db.Name() || form.Summary.Tables == 0 || form.Summary.Statements != n || form.Summary.LongestLockMS == nil || form.Blockers == nil || form.Notes == nil {
			t.Errorf("the JSON is read as %+v, want %d statements", form, n)
		}
		if len(form.Likely) > 0 != (db.Name() != "sqlite") || len(form.Likely) > 0 && (form.Likely[0].Column != "audit.order_id" || !slices.Equal(form.Likely[0].Keys, []string{"orders.id"})) {
			t.Errorf("likely are %+v, want audit.order_id", form.Likely)
		}
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--sql", "--json", "orders"), clitest.Usage, "", "[json sql]")
	})
}

// Errors name flags of the command, not options of the Go package such as WithReference.
func TestMigratePlanNamesFlags(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		for flag, want := range map[string]string{
			"--reference=audit.odd=orders.id": "gormflake: --reference: table audit has no column odd",
			"--not-reference=audit.odd":       "gormflake: --not-reference: table audit has no column odd",
			"--not-reference=odd.order_id":    "gormflake: --not-reference: table odd cannot be read",
			"--reference=audit=orders.id":     `--reference("audit", "orders.id"): "audit" is not the name of a column`,
		} {
			got := clitest.Command(t, "migrate", "plan", "--dsn", url, flag, "orders")
			if got.Code == clitest.OK || !strings.Contains(got.Err, want) || strings.Contains(got.Err, "With") {
				t.Errorf("%s: code %d, %s, want %s", flag, got.Code, got.Err, want)
			}
		}
	})
}
