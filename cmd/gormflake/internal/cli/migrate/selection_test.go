package migrate_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// plannedTables returns the sorted names of the tables in a plan.
func plannedTables(t *testing.T, url string, args ...string) []string {
	t.Helper()
	got := clitest.Command(t, append([]string{"migrate", "plan", "--dsn", url, "--json"}, args...)...)
	var plan struct {
		Tables []struct{ Schema, Name string }
	}
	if err := json.Unmarshal([]byte(got.Out), &plan); err != nil {
		t.Fatalf("code %d, %v\n%s%s", got.Code, err, got.Out, got.Err)
	}
	var names []string
	for _, table := range plan.Tables {
		names = append(names, table.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// --schema and --tables select the same tables before and after phases widen and detach,
// and leave out tables of migration tools and tables whose key is not an integer.
func TestMigrateSelection(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		schema := map[string]string{"sqlite": "SELECT 'main'", "mysql": "SELECT DATABASE()", "postgres": "SELECT current_schema()"}[db.Name()]
		if err := db.Raw(schema).Row().Scan(&schema); err != nil {
			t.Fatal(err)
		}
		key := map[string]string{"sqlite": "INTEGER PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "serial PRIMARY KEY"}[db.Name()]
		clitest.Execute(t, db, "CREATE TABLE goose_db_version (id "+key+")", "CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY)", "CREATE TABLE texts (id VARCHAR(9) PRIMARY KEY)")
		all := []string{"order_lines", "orders"}
		for range 2 {
			for _, args := range [][]string{{"--schema", schema}, {"--tables", "order*"}, {"--tables", schema + ".*"}, {"--tables", "order_?ines", "orders"}, {"--tables", "order_lines", "--tables", "*"}} {
				if got := plannedTables(t, url, args...); !slices.Equal(got, all) {
					t.Errorf("%q selects %q, want %q", args, got, all)
				}
			}
			got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--tables", "order*", "--not-reference", "audit.order_id", "--phases", "widen,detach")
			if strings.HasPrefix(got.Out, "nothing to do") { // at the second time
				clitest.WantOutcome(t, got, clitest.OK, "what is left is of guard", "")
				continue
			}
			clitest.WantOutcome(t, got, clitest.OK, "next: gormflake migrate apply --dsn … --phases guard --not-reference audit.order_id --tables='order*'\n", "done")
		}
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "files", "--dsn", url, "--format", "goose", "--dir", filepath.Join(t.TempDir(), "files"), "--schema", schema), clitest.OK, "_snowflake_guard.sql\n", "")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--schema", schema, "--not-reference", "audit.order_id"), clitest.OK, "applied: guard\n", "done")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--schema", schema), clitest.OK, "nothing to do: --tables='"+schema+".*' and what is connected", "")
		for pattern, want := range map[string]string{"odd*": "no table with a primary key that begins with an integer", "odd.*": "no table with", "texts": "no table with"} {
			clitest.WantOneLine(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--tables", pattern, "orders"), `tables "`+pattern+`": `+want)
		}
		clitest.WantUsage(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--tables", "[a"), `tables "[a": syntax error in pattern`)
	})
}

// A dot in a schema's name does not separate a schema from a table.
func TestMigrateDottedSchema(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		if db.Name() != "postgres" {
			t.Skip("the command reads the schemas of PostgreSQL alike")
		}
		clitest.Execute(t, db, `CREATE SCHEMA "shop.v2"`, `CREATE TABLE "shop.v2".orders (id serial PRIMARY KEY)`)
		t.Cleanup(func() { clitest.Execute(t, db, `DROP SCHEMA "shop.v2" CASCADE`) })
		for _, args := range [][]string{{"--schema", "shop.v2"}, {"--tables", `"shop.v2".*`}} {
			if got := plannedTables(t, url, args...); !slices.Equal(got, []string{"orders"}) {
				t.Errorf("%q selects %q, want orders", args, got)
			}
			got := clitest.Command(t, append([]string{"migrate", "apply", "--dsn", url, "--yes", "--save", ""}, args...)...)
			if got.Code != clitest.OK {
				t.Errorf("apply %q: %+v", args, got)
			}
		}
	})
}

// --schema selects a schema that is not on the search_path.
func TestMigrateOtherSchema(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		if db.Name() == "sqlite" {
			t.Skip("there is one")
		}
		var other string
		if err := db.Raw(map[string]string{"mysql": "SELECT DATABASE()", "postgres": "SELECT current_schema()"}[db.Name()]).Row().Scan(&other); err != nil {
			t.Fatal(err)
		}
		other += "_b"
		clitest.Execute(t, db, "CREATE SCHEMA "+other, `CREATE TABLE `+other+`.odd_ones (id int PRIMARY KEY)`)
		t.Cleanup(func() {
			clitest.Execute(t, db, "DROP SCHEMA "+other+map[string]string{"postgres": " CASCADE"}[db.Name()])
		})
		got := clitest.Command(t, "migrate", "plan", "--dsn", url, "--details", "--schema", other)
		clitest.WantOutcome(t, got, clitest.Findings, "  "+other+".odd_ones: ", "")
	})
}

// While an online move is under way, a pattern does not select the tables that the move has
// created.
func TestMigrateSelectionOnline(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		if db.Name() == "sqlite" {
			t.Skip("keys are wide")
		}
		args := []string{"--dsn", url, "--yes", "--tables", "order*"}
		clitest.WantOutcome(t, clitest.Command(t, append([]string{"migrate", "online", "apply", "--until", "copy"}, args...)...), clitest.OK, "applied up to stage copy", "copy")
		if got := plannedTables(t, url, "--tables", "*"); !slices.Equal(got, []string{"order_lines", "orders"}) {
			t.Errorf("under way, all are %q", got)
		}
		clitest.WantOutcome(t, clitest.Command(t, append([]string{"migrate", "online", "apply"}, args...)...), clitest.OK, "applied; next", "swap")
		clitest.WantOutcome(t, clitest.Command(t, append([]string{"migrate", "online", "finish"}, args...)...), clitest.OK, "finished", "finish")
	})
}
