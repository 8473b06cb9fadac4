package doctor_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// usagesOf returns the usage of each key, in the order of the JSON.
func usagesOf(t *testing.T, url string) []keyUsage {
	t.Helper()
	var d struct{ Usage []keyUsage }
	got := clitest.Command(t, "doctor", "--dsn", url, "--json")
	if err := json.Unmarshal([]byte(got.Out), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, got.Out, got.Err)
	}
	return d.Usage
}

// A keyUsage is the usage of a key in the JSON of doctor.
type keyUsage struct {
	Name, Full        string
	Last, Limit, Used float64
}

// keyLimits has, for each dialect, the column types of integers with the largest key of each
// type.
var keyLimits = map[string]map[string]float64{
	"sqlite":   {"INTEGER": math.MaxInt64, "smallint": math.MaxInt64},
	"postgres": {"smallint": math.MaxInt16, "integer": math.MaxInt32, "bigint": math.MaxInt64},
	"mysql": {
		"tinyint": math.MaxInt8, "smallint unsigned": math.MaxUint16, "mediumint": 1<<23 - 1, "mediumint unsigned": 1<<24 - 1,
		"int": math.MaxInt32, "int unsigned": math.MaxUint32, "bigint": math.MaxInt64, "bigint unsigned": math.MaxUint64,
	},
}

// doctor knows the largest key of each column type, and warns exactly at 75 % of it and
// reports a problem at 90 %.
func TestDoctorUsage(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		limits := keyLimits[db.Name()]
		var narrow []string
		table := func(typ string) string { return "of_" + strings.ReplaceAll(typ, " ", "_") }
		for typ, limit := range limits {
			clitest.Execute(t, db, fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY)", table(typ), typ))
			if limit < math.MaxInt64 {
				narrow = append(narrow, typ)
			}
		}
		found := usagesOf(t, url)
		if len(found) != len(limits) {
			t.Errorf("usage of %d keys, want %d: %+v", len(found), len(limits), found)
		}
		for typ, limit := range limits {
			if !slices.Contains(found, keyUsage{Name: table(typ) + ".id", Limit: limit}) {
				t.Errorf("%s has not the limit %.0f: %+v", table(typ), limit, found)
			}
		}
		diagnose(t, url).wantFinding(t, "ok", "usage", "", "of their numbers, keys and sequences have used: "+found[0].Name+" 0 %, ", "")
		for _, test := range []struct {
			part, more         float64 // the last key is part of the limit, plus more
			problems, warnings int     // for each key
		}{{0.75, -1, 0, 0}, {0.75, 1, 0, 1}, {0.90, -1, 0, 1}, {0.90, 1, 1, 0}, {1, 0, 1, 0}} {
			for _, typ := range narrow {
				last := fmt.Sprintf("%.0f", math.Floor(limits[typ]*test.part)+test.more)
				clitest.Execute(t, db, "DELETE FROM "+table(typ), fmt.Sprintf("INSERT INTO %s VALUES (%s)", table(typ), last))
			}
			d := diagnose(t, url)
			d.wantCounts(t, test.problems*len(narrow), test.warnings*len(narrow))
			for _, typ := range narrow {
				if test.problems > 0 {
					d.wantFinding(t, "problem", "usage", table(typ)+".id", fmt.Sprintf(" of %.0f", limits[typ]), "gormflake migrate plan "+table(typ))
				}
			}
		}
		var skip []string
		for _, typ := range narrow {
			skip = append(skip, "--skip", table(typ))
		}
		diagnose(t, url, skip...).wantCounts(t, 0, 0)
	})
}

// doctor counts the numbers that the counter has assigned, because deleted rows do not free
// their keys. It skips Snowflake IDs, and sequences that begin again at their end. On
// MySQL it finds a counter that is the second column of a primary key.
func TestDoctorCounters(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		createMoved(t, db, "moved", "VARCHAR(60) UNIQUE")
		want := map[string]float64{"orders.id": 1, "order_lines.id": 1}
		switch db.Name() {
		case "mysql":
			clitest.Execute(t, db, "ALTER TABLE orders AUTO_INCREMENT = 2040109466", "CREATE TABLE parked (id BIGINT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 9223372036854775000",
				"CREATE TABLE tenants (tenant INT, no SMALLINT AUTO_INCREMENT, PRIMARY KEY (tenant, no), KEY (no))", "INSERT INTO tenants VALUES (7, 30000)")
			want["orders.id"], want["parked.id"], want["tenants.tenant"], want["tenants.no"] = 2040109465, 0, 7, 30000
		case "postgres":
			clitest.Execute(t, db, "SELECT setval('orders_id_seq', 2040109465)", "ALTER TABLE order_lines ALTER COLUMN id TYPE bigint", "SELECT setval('order_lines_id_seq', 2040109466)",
				"CREATE SEQUENCE down AS smallint INCREMENT -1", "SELECT setval('down', -30000)", "CREATE SEQUENCE round AS smallint CYCLE", "SELECT setval('round', 30000)",
				"CREATE TABLE papers (name text PRIMARY KEY, no int)", "CREATE SEQUENCE papers_no OWNED BY papers.no", "SELECT setval('papers_no', 2040109467)")
			maps.Copy(want, map[string]float64{"sequence orders_id_seq": 2040109465, "sequence order_lines_id_seq": 2040109466, "sequence down": -30000, "sequence papers_no": 2040109467})
		}
		for _, u := range usagesOf(t, url) {
			if last, ok := want[u.Name]; !ok || last != u.Last {
				t.Errorf("%+v, want the last to be %.0f of %v", u, last, want)
			}
			delete(want, u.Name)
		}
		if len(want) > 0 {
			t.Errorf("no usage of %v", want)
		}
		if db.Name() == "sqlite" {
			return
		}
		d := diagnose(t, url)
		subject := map[string]string{"mysql": "orders.id", "postgres": "sequence orders_id_seq"}[db.Name()]
		d.wantFinding(t, "problem", "usage", subject, "95 % of its numbers are used, up to 2040109465 of 2147483647", "gormflake migrate plan orders")
		if db.Name() == "postgres" {
			d.wantFinding(t, "problem", "usage", "sequence down", "91 % of its numbers are used, up to -30000 of -32768", "NO MINVALUE NO MAXVALUE")
			d.wantFinding(t, "problem", "usage", "sequence papers_no", "95 %", "gormflake migrate plan papers")
			applyFixes(t, db, d)
			diagnose(t, url).wantCounts(t, 3, 0) // only the fix of sequence down is SQL
		}
	})
}

// applyFixes executes the fixes that are SQL.
func applyFixes(t *testing.T, db *gorm.DB, d diagnosis) {
	t.Helper()
	for _, f := range d.Findings {
		if strings.HasPrefix(f.Fix, "ALTER ") {
			clitest.Execute(t, db, f.Fix)
		}
	}
}

// doctor reads the usage of a sequence of MariaDB, and its fix works.
func TestDoctorMariaDBSequences(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.MariaDB)
	db := clitest.Open(t, url)
	clitest.Execute(t, db, "CREATE SEQUENCE numbers MAXVALUE 1000 NOCACHE", "SELECT SETVAL(numbers, 800)")
	d := diagnose(t, url)
	d.wantCounts(t, 0, 1)
	d.wantFinding(t, "warning", "usage", "sequence numbers", "80 % of its numbers are used, up to 800 of 1000", "ALTER SEQUENCE `numbers` NO MINVALUE NO MAXVALUE")
	applyFixes(t, db, d)
	diagnose(t, url).wantCounts(t, 0, 0)
}

// doctor predicts when a key runs out from the rate at which the newest tenth of its
// numbers was assigned.
func TestDoctorUsageDate(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		if db.Name() == "sqlite" {
			t.Skip("no key is narrow")
		}
		columns := []string{"created_at", "createdAt", "date_created", "insert_time"}
		for _, column := range columns {
			quoted := map[string]string{"mysql": "`" + column + "`", "postgres": `"` + column + `"`}[db.Name()]
			clitest.Execute(t, db, "CREATE TABLE of_"+column+" (id int PRIMARY KEY, updated_at timestamp NULL, "+quoted+" timestamp NULL)")
			ago := map[string]string{"mysql": "NOW() - INTERVAL %d DAY", "postgres": "now() - interval '%d days'"}[db.Name()]
			for key, days := range map[int]int{1: 1000, 1_000_000_000: 200, 1_500_000_000: 100, 1_600_000_000: 5} {
				clitest.Execute(t, db, fmt.Sprintf("INSERT INTO of_%s VALUES (%d, NULL, %s)", column, key, fmt.Sprintf(ago, days)))
			}
		}
		// The last key before the newest tenth is 1,000,000,000, of 200 days ago. If the 600
		// million keys since then took 200 days, the remaining 547,483,647 take 182.5 days.
		want := time.Now().Add(4380 * time.Hour).UTC()
		found := usagesOf(t, url)
		for _, u := range found {
			if full, err := time.Parse(time.DateOnly, u.Full); err != nil || full.Sub(want).Abs() > 48*time.Hour {
				t.Errorf("%+v, want %s", u, want.Format(time.DateOnly))
			}
		}
		if len(found) != len(columns) {
			t.Errorf("usage of %+v, want %d", found, len(columns))
		}
		clitest.Execute(t, db, "DELETE FROM of_created_at WHERE id < 1600000000", "UPDATE of_created_at SET id = 1700000000", "UPDATE of_date_created SET id = 1700000000 WHERE id = 1600000000")
		d := diagnose(t, url)
		d.wantCounts(t, 0, 2)
		d.wantFinding(t, "warning", "usage", "of_date_created.id", "79 % of its numbers are used, up to 1700000000 of 2147483647; at the present rate all are on 2", "migrate plan of_date_created")
		for _, u := range usagesOf(t, url) {
			if u.Name == "of_created_at.id" && u.Full != "" {
				t.Errorf("%+v, want no date of one row", u)
			}
		}
	})
}

// --textfile writes metrics, with quotes and backslashes in their labels escaped, as the text
// format of Prometheus requires. It replaces the file of an earlier run. Every user may read
// the file, because the collector runs under another account.
func TestDoctorTextfile(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Execute(t, clitest.Open(t, url), "CREATE TABLE \"a\\b\"\"\tc\" (id integer PRIMARY KEY)", "INSERT INTO \"a\\b\"\"\tc\" VALUES (-1), (4611686018427)")
	name := filepath.Join(t.TempDir(), "gormflake.prom")
	for range 2 {
		clitest.WantOutcome(t, clitest.Command(t, "doctor", "--dsn", url, "--textfile", name), clitest.Findings, "1 problem, 0 warnings\n", "")
	}
	text, err := os.ReadFile(name)
	want := strings.ReplaceAll(`# HELP gormflake_key_used_ratio Used part of the numbers of a key or a sequence.
# TYPE gormflake_key_used_ratio gauge
gormflake_key_used_ratio{database="DB",name="\"a\\b\"\"TABc\".id"} 4.999999999999579e-07
`, "DB", filepath.Base(url))
	want = strings.ReplaceAll(want, "TAB", "\t") // the wanted text is a raw string, which cannot escape a tab
	if err != nil || string(text) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, text, want)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v, want a file for all", info.Mode(), err)
	}
	clitest.WantOneLine(t, clitest.Command(t, "doctor", "--dsn", url, "--textfile", filepath.Join(name, "below")), "--textfile: ")
}
