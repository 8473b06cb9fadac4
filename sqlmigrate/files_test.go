package sqlmigrate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// stampForm is the form of the timestamp at the beginning of a file's name.
const stampForm = "20060102150405"

// WriteFiles writes a migration for each phase in the form of the tool. The checks of a
// phase are in its down part, before the statements that take it back.
func TestWriteFiles(t *testing.T) {
	t.Parallel()
	const (
		widenUp   = "up 1;\nup 2;\n"
		widenDown = "check 1;\ndown 1;\ndown 2;\n"
		guardUp   = "up 4;\n"
		guardDown = "check 2;\ndown 4;\n"
	)
	tests := []struct {
		format sqlmigrate.Format
		want   map[string]string
	}{
		{sqlmigrate.GolangMigrate, map[string]string{
			"0_snowflake_widen.up.sql":   "-- golang-migrate\n" + widenUp,
			"0_snowflake_widen.down.sql": "-- golang-migrate\n" + widenDown,
			"1_snowflake_guard.up.sql":   "-- golang-migrate\n" + guardUp,
			"1_snowflake_guard.down.sql": "-- golang-migrate\n" + guardDown,
		}},
		{sqlmigrate.Goose, map[string]string{
			"0_snowflake_widen.sql": "-- +goose Up\n-- goose\n" + widenUp + "\n-- +goose Down\n-- goose\n" + widenDown,
			"1_snowflake_guard.sql": "-- +goose Up\n-- goose\n" + guardUp + "\n-- +goose Down\n-- goose\n" + guardDown,
		}},
	}
	for _, test := range tests {
		t.Run(string(test.format), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new", "migrations")
			before := time.Now().UTC().Truncate(time.Second)
			if err := shortPlan().WriteFiles(dir, test.format); err != nil {
				t.Fatal(err)
			}
			got, first := readFiles(t, dir)
			if first.Before(before) || first.After(time.Now().UTC()) {
				t.Errorf("first version %v, want now", first)
			}
			wantFiles(t, got, test.want)
		})
	}
}

// shortPlan returns a plan with the first step of widen and the step of guard.
func shortPlan() *sqlmigrate.Plan {
	p := handPlan(&sqlmigrate.FakeEngine{})
	p.Phases[0].Steps = p.Phases[0].Steps[:1]
	return p
}

// readFiles returns the texts of the files by name, and the timestamp of the first file.
// In the names it replaces each timestamp by the seconds since the first.
func readFiles(t *testing.T, dir string) (map[string]string, time.Time) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var first time.Time
	files := map[string]string{}
	for _, entry := range entries {
		version, rest, _ := strings.Cut(entry.Name(), "_")
		stamp, err := time.Parse(stampForm, version)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = stamp
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprintf("%d_%s", int(stamp.Sub(first).Seconds()), rest)] = string(text)
	}
	return files, first
}

// wantFiles fails the test unless got has exactly the files of want, with their texts.
func wantFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("file %s has %q, want %q", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("file %s is not wanted", name)
		}
	}
}

// If WriteFiles returns an error, there are no new files. It refuses to write files of
// goose beside files of golang-migrate, or the reverse, because goose would read the files
// of golang-migrate too, and golang-migrate would ignore the files of goose.
func TestWriteFilesRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		plan    *sqlmigrate.Plan
		format  sqlmigrate.Format
		present string // a file that is in the directory before; empty if there is none
		want    string
	}{
		{"blockers", blockedPlan(), sqlmigrate.Goose, "", "blocked by view v_orders"},
		{"empty", &sqlmigrate.Plan{Dialect: "sqlite"}, sqlmigrate.Goose, "", "sqlmigrate: the plan is empty: there is nothing to write"},
		{"format", shortPlan(), "flyway", "", `sqlmigrate: unknown format "flyway": want golang-migrate, goose or atlas`},
		{"pairs under goose", shortPlan(), sqlmigrate.Goose, "1_a.up.sql", "1_a.up.sql is not a file of goose"},
		{"goose under golang-migrate", shortPlan(), sqlmigrate.GolangMigrate, "00001_a.sql", "00001_a.sql is not a file of golang-migrate"},
		{"version above all", shortPlan(), sqlmigrate.Goose, "99999999999999_a.sql", "99999999999999_a.sql has a version that is above every timestamp"},
		{"version too large", shortPlan(), sqlmigrate.Goose, "99999999999999999999_a.sql", "value out of range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.present != "" {
				touch(t, filepath.Join(dir, test.present))
			}
			migratetest.WantError(t, test.plan.WriteFiles(dir, test.format), test.want)
			wantNames(t, dir, test.present)
		})
	}
}

// touch creates an empty file.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantNames checks that dir contains exactly these files.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	want = slices.DeleteFunc(want, func(name string) bool { return name == "" })
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// The versions of new files are above the versions of all files in the directory, even if
// one of these has a timestamp in the future, because the tools run files in the order of
// their versions. Here the newest is the last second of 2099.
func TestWriteFilesAfterOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const newest = "20991231235959_last.sql"
	touch(t, filepath.Join(dir, "00007_first.sql"))
	touch(t, filepath.Join(dir, newest))
	touch(t, filepath.Join(dir, "README.md"))
	if err := shortPlan().WriteFiles(dir, sqlmigrate.Goose); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "00007_first.sql", newest, "21000101000000_snowflake_widen.sql", "21000101000001_snowflake_guard.sql", "README.md")
}

// If the files in a directory are numbered, new files continue the numbers. A timestamp
// would be above all later numbers, which golang-migrate would then never run.
func TestWriteFilesContinueNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		format  sqlmigrate.Format
		present []string
		want    []string
	}{
		{"sequence of golang-migrate", sqlmigrate.GolangMigrate, []string{"000011_a.up.sql", "000012_b.down.sql", "000012_b.up.sql"}, []string{
			"000013_snowflake_widen.down.sql", "000013_snowflake_widen.up.sql",
			"000014_snowflake_guard.down.sql", "000014_snowflake_guard.up.sql",
		}},
		{"sequence of goose", sqlmigrate.Goose, []string{"00007_a.sql"}, []string{"00008_snowflake_widen.sql", "00009_snowflake_guard.sql"}},
		{"one more digit", sqlmigrate.Goose, []string{"8_a.sql", "9_b.sql"}, []string{"10_snowflake_widen.sql", "11_snowflake_guard.sql"}},
		{"zero", sqlmigrate.Goose, []string{"000_a.sql"}, []string{"001_snowflake_widen.sql", "002_snowflake_guard.sql"}},
		{"Unix time", sqlmigrate.Goose, []string{"1700000000_a.sql"}, []string{"1700000001_snowflake_widen.sql", "1700000002_snowflake_guard.sql"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range test.present {
				touch(t, filepath.Join(dir, name))
			}
			if err := shortPlan().WriteFiles(dir, test.format); err != nil {
				t.Fatal(err)
			}
			wantNames(t, dir, slices.Sorted(slices.Values(slices.Concat(test.present, test.want)))...)
		})
	}
}

// A migration is not written twice to a directory. A plan with another statement has
// another migration.
func TestWriteFilesTwice(t *testing.T) {
	t.Parallel()
	for _, format := range []sqlmigrate.Format{sqlmigrate.GolangMigrate, sqlmigrate.Goose} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := shortPlan().WriteFiles(dir, format); err != nil {
				t.Fatal(err)
			}
			before, _ := readFiles(t, dir)
			migratetest.WantError(t, shortPlan().WriteFiles(dir, format), "_snowflake_widen", "is this migration already: remove it, or write to another directory")
			after, _ := readFiles(t, dir)
			wantFiles(t, after, before)
			other := shortPlan()
			other.Phases[0].Steps[0].Up[0].SQL = "up 9"
			other.Phases = other.Phases[:1] // phase guard is the same, and would be refused
			if err := other.WriteFiles(dir, format); err != nil {
				t.Errorf("another plan: %v", err)
			}
		})
	}
}

// WriteLeaseTable writes the same statement that sqllease.DDL returns, and a down part
// that drops the same table.
func TestWriteLeaseTable(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		for _, format := range []sqlmigrate.Format{sqlmigrate.GolangMigrate, sqlmigrate.Goose} {
			t.Run(dialect+" "+string(format), func(t *testing.T) {
				t.Parallel()
				testWriteLeaseTable(t, dialect, format)
			})
		}
	}
}

// testWriteLeaseTable tests the files of WriteLeaseTable for one dialect and format. The
// name of the table has a schema, so both parts must be quoted.
func testWriteLeaseTable(t *testing.T, dialect string, format sqlmigrate.Format) {
	t.Helper()
	dir := t.TempDir()
	if err := sqlmigrate.WriteLeaseTable(dir, format, dialect, sqllease.WithTable("shop.workers")); err != nil {
		t.Fatal(err)
	}
	files, _ := readFiles(t, dir)
	up, down := files["0_snowflake_lease.up.sql"], files["0_snowflake_lease.down.sql"]
	if format == sqlmigrate.Goose {
		up, down, _ = strings.Cut(files["0_snowflake_lease.sql"], "-- +goose Down\n")
	}
	ddl, err := sqllease.DDL(dialect, sqllease.WithTable("shop.workers"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSuffix(strings.TrimSpace(ddl), ";"); !strings.Contains(up, want) {
		t.Errorf("up:\n%s\nwant it to have\n%s", up, want)
	}
	quote := `"`
	if dialect == "mysql" {
		quote = "`"
	}
	if want := "DROP TABLE IF EXISTS " + quote + "shop" + quote + "." + quote + "workers" + quote; !strings.Contains(down, want) {
		t.Errorf("down:\n%s\nwant it to have %s", down, want)
	}
	migratetest.WantError(t, sqlmigrate.WriteLeaseTable(dir, format, dialect, sqllease.WithTable("shop.workers")), "is this migration already")
}

// WriteLeaseTable writes no file if the dialect or the name of the table is not valid.
func TestWriteLeaseTableRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	migratetest.WantError(t, sqlmigrate.WriteLeaseTable(dir, sqlmigrate.Goose, "oracle"), `sqlmigrate: dialect "oracle" is not supported: want sqlite, mysql or postgres`)
	migratetest.WantError(t, sqlmigrate.WriteLeaseTable(dir, sqlmigrate.Goose, "sqlite", sqllease.WithTable("a.b.c")), `WithTable("a.b.c")`)
	wantNames(t, dir)
}
