package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/testdb"
)

const (
	ok       = 0
	failed   = 1
	usage    = 2
	findings = 3
)

// The whole way: plan, apply in parts, nothing left, and back.
func TestMigrate(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, url string) {
		shop(t, url)
		saved := filepath.Join(t.TempDir(), "moved.json")
		before := schema(t, url)
		plan := command(t, "migrate", "plan", "--dsn", url, "orders")
		wantOutcome(t, plan, findings, "Phase detach", "")

		got := command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", saved, "orders", "order_lines")
		wantOutcome(t, got, ok, "detach, guard\nnext: gormflake doctor --dsn …\n", "guard 1/")
		wantOutcome(t, got, ok, `model: orders.id is a types.ID with the tag snowflake:"pk"`, "statements done after")
		wantOutcome(t, got, ok, "model: order_lines.order_id is a types.ID\n", "orders: ")
		wantOutcome(t, command(t, "migrate", "plan", "--dsn", url, "orders", "order_lines"), ok, "nothing to do", "")
		wantOutcome(t, command(t, "migrate", "apply", "--dsn", url, "--yes", "orders", "order_lines"), ok, "nothing to do: orders, order_lines", "")
		if schema(t, url) == before {
			t.Fatal("apply has changed nothing")
		}

		wantOutcome(t, command(t, "migrate", "revert", "--dsn", url, "--yes", saved), ok, "taken back: ", "is taken back: ")
		if after := schema(t, url); after != before {
			t.Errorf("after revert:\n%s\nwant what was before:\n%s", after, before)
		}
	})
}

var autoNext = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// schema is the definition of the shop's tables, as the database tells it.
func schema(t *testing.T, url string) string {
	t.Helper()
	db := open(t, url)
	var parts []string
	switch db.Name() {
	case "sqlite":
		db.Raw("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name").Scan(&parts)
	case "mysql":
		for _, table := range []string{"audit", "orders", "order_lines"} {
			var name, text string
			if err := db.Raw("SHOW CREATE TABLE "+table).Row().Scan(&name, &text); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, autoNext.ReplaceAllString(text, ""))
		}
	default:
		db.Raw(`SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || coalesce(column_default, '')
			FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1`).Scan(&parts)
		var constraints []string
		db.Raw(`SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace ORDER BY 1`).Scan(&constraints)
		parts = append(parts, constraints...)
	}
	if len(parts) < 3 {
		t.Fatalf("the schema is not read: %q", parts)
	}
	return strings.Join(parts, "\n")
}

func TestMigratePhases(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, url string) {
		db := shop(t, url)
		got := command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "widen", "orders")
		if db.Name() == "sqlite" {
			wantOutcome(t, got, ok, "nothing to do: what is left is of detach and guard", "")
			return
		}
		wantOutcome(t, got, ok, "applied: widen\nnext: deploy programs that assign keys", "widen 1/")
		wantOutcome(t, got, ok, "next: gormflake migrate apply --dsn … --phases detach,guard ", "widen 1/")
		wantOutcome(t, command(t, "migrate", "plan", "--dsn", url, "orders"), findings, "2 phases", "")
	})
}

// What apply says is next works as it stands there.
func TestMigrateNext(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, url string) {
		shop(t, url)
		got := command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "widen,detach", "--reference", "audit.order_id=orders.id", "orders")
		for range 2 { // migrate apply, and doctor
			_, next, found := strings.Cut(got.out, "\nnext: gormflake ")
			if !found {
				t.Fatalf("nothing is next:\n%s", got.out)
			}
			next, _, _ = strings.Cut(next, "\n")
			args := strings.Fields(strings.Replace(next, "…", url, 1))
			if args[0] == "migrate" {
				args = append(args, "--yes", "--save", "")
			}
			got = command(t, args...)
			if got.code != ok {
				t.Fatalf("%s: code %d\n%s%s", next, got.code, got.out, got.err)
			}
		}
		wantOutcome(t, got, ok, "all is well", "")
		left := command(t, "migrate", "plan", "--dsn", url, "order_lines")
		wantOutcome(t, left, findings, "order_lines: ", "")
		if _, assigned, _ := strings.Cut(left.out, "Tables"); !strings.Contains(assigned, "key, auto") && !strings.Contains(assigned, "key, serial") {
			t.Errorf("the keys of order_lines were not to be moved:\n%s", left.out)
		}
	})
}

// A reference that no constraint tells of is moved with the rest.
func TestMigrateReference(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, url string) {
		shop(t, url)
		const column = "refers to orders.id"
		if got := command(t, "migrate", "plan", "--dsn", url, "orders"); strings.Contains(got.out, "\n  audit: ") {
			t.Fatalf("audit is connected already:\n%s", got.out)
		}
		got := command(t, "migrate", "plan", "--dsn", url, "--reference", "audit.order_id=orders.id", "orders")
		wantOutcome(t, got, findings, "audit: ", "")
		if strings.Count(got.out, column) != 2 {
			t.Errorf("want two columns that refer to orders.id:\n%s", got.out)
		}
	})
}

func TestMigrateFiles(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, url string) {
		shop(t, url)
		dir := filepath.Join(t.TempDir(), "migrations")
		before := schema(t, url)
		got := command(t, "migrate", "files", "--dsn", url, "--format", "golang-migrate", "--dir", dir, "--lease-table", "--table", "workers", "--phases", "guard", "orders")
		wantOutcome(t, got, ok, "_snowflake_lease.up.sql\n", "")
		wantOutcome(t, got, ok, "_snowflake_guard.down.sql\n", "")
		for name := range strings.FieldsSeq(got.out) {
			text, err := os.ReadFile(name)
			if err != nil || len(text) == 0 {
				t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
			if strings.HasSuffix(name, "_lease.up.sql") && !strings.Contains(string(text), "workers") {
				t.Errorf("%s does not create the table that --table names:\n%s", name, text)
			}
		}
		if n := len(strings.Fields(got.out)); n != 4 {
			t.Errorf("%d files are named, want 4:\n%s", n, got.out)
		}
		again := command(t, "migrate", "files", "--dsn", url, "--format", "golang-migrate", "--dir", dir, "--phases", "guard", "orders")
		wantOneLine(t, again, "is this migration already")
		if schema(t, url) != before {
			t.Error("writing files has changed the database")
		}
	})
}

// What is in the way is told once in the plan and once as the error.
func TestMigrateBlocked(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, url string) {
		db := shop(t, url)
		key := "BIGINT"
		if db.Name() == "mysql" {
			key += " AUTO_INCREMENT"
		}
		if db.Name() == "sqlite" {
			key = "INTEGER"
		}
		execute(
			t, db,
			"CREATE TABLE late (id "+key+" PRIMARY KEY)",
			"INSERT INTO late VALUES (9000000000000000000)",
		)
		if db.Name() == "postgres" {
			execute(t, db, "ALTER TABLE late ALTER id ADD GENERATED BY DEFAULT AS IDENTITY")
		}
		before := schema(t, url)
		plan := command(t, "migrate", "plan", "--dsn", url, "late")
		wantOneLine(t, plan, "blocker stands in the way")
		wantOutcome(t, plan, failed, "Blocked by", "fix: ")
		wantOneLine(t, command(t, "migrate", "apply", "--dsn", url, "--yes", "late"), `see "gormflake migrate plan"`)
		wantOneLine(t, command(t, "migrate", "files", "--dsn", url, "--format", "goose", "--dir", t.TempDir(), "late"), "blocker stands in the way")
		if schema(t, url) != before {
			t.Error("a blocked plan has changed the database")
		}
	})
}

func TestMigrateMistakes(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	shop(t, url)
	file := filepath.Join(t.TempDir(), "odd.json")
	if err := os.WriteFile(file, []byte(`{"gormflake_plan": 7, "plan": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(t.TempDir(), "taken.json")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.db")
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no table", []string{"plan", "--dsn", url}, usage, "no table: name the tables to move"},
		{"no table to apply", []string{"apply", "--dsn", url}, usage, "no table: name the tables to move"},
		{"no table for files", []string{"files", "--dsn", url, "--format", "goose"}, usage, "no table: name the tables to move"},
		{"no database", []string{"plan", "orders"}, usage, "no database: give --dsn"},
		{"no URL", []string{"plan", "--dsn", "app:hunter2@tcp(db)/shop", "orders"}, usage, "dsn: not a database URL"},
		{"no such file", []string{"plan", "--dsn", "sqlite://" + missing, "orders"}, failed, "database: there is no file"},
		{"apply to no such file", []string{"apply", "--dsn", "sqlite://" + missing, "orders"}, failed, "database: there is no file"},
		{"nobody listens", []string{"plan", "--dsn", "postgres://app:hunter2@127.0.0.1:1/shop", "orders"}, failed, "connection refused"},
		{"nobody listens either", []string{"plan", "--dsn", "mysql://app:hunter2@127.0.0.1:1/shop", "orders"}, failed, "connection refused"},
		{"unknown table", []string{"plan", "--dsn", url, "nowhere"}, failed, "there is no table nowhere"},
		{"reference without key", []string{"plan", "--dsn", url, "--reference", "audit.order_id", "orders"}, usage, "want column=key"},
		{"reference to nothing", []string{"plan", "--dsn", url, "--reference", "audit.nothing=orders.id", "orders"}, failed, "nothing"},
		{"unknown layout", []string{"plan", "--dsn", url, "--layout", "odd", "orders"}, usage, `--layout "odd"`},
		{"unknown phase", []string{"apply", "--dsn", url, "--phases", "odd", "orders"}, usage, `--phases "odd": want some of widen, detach, guard`},
		{"no phase", []string{"apply", "--dsn", url, "--phases", "", "orders"}, usage, `invalid argument "" for "--phases" flag: empty`},
		{"negative timeout", []string{"apply", "--dsn", url, "--lock-timeout", "-1s", "orders"}, usage, "--lock-timeout -1s: want zero or more"},
		{"no format", []string{"files", "--dsn", url, "orders"}, usage, "no --format: want golang-migrate or goose"},
		{"unknown format", []string{"files", "--dsn", url, "--format", "odd", "orders"}, usage, `--format "odd": want golang-migrate or goose`},
		{"odd table of workers", []string{"files", "--dsn", url, "--format", "goose", "--lease-table", "--table", "a b"}, usage, `WithTable("a b")`},
		{"no file to revert", []string{"revert", "--dsn", url}, usage, "want one file"},
		{"file is missing", []string{"revert", "--dsn", url, "nowhere.json"}, failed, "read the saved plan: open nowhere.json"},
		{"file of another program", []string{"revert", "--dsn", url, file}, failed, "form 7 of a saved plan, want 1"},
		{"unknown flag", []string{"plan", "--dsn", url, "--odd", "orders"}, usage, "unknown flag: --odd"},
		{"taken name", []string{"apply", "--dsn", url, "--yes", "--save", taken, "orders"}, failed, "nothing has been changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := command(t, append([]string{"migrate"}, test.args...)...)
			wantOutcome(t, got, test.code, got.out, test.want)
			lines := strings.Split(strings.TrimSpace(got.err), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "gormflake: ") || !strings.Contains(last, test.want) {
				t.Errorf("the last line is %q, want gormflake: … %s", last, test.want)
			}
			if strings.Contains(got.err+got.out, "hunter2") {
				t.Errorf("the password is shown:\n%s%s", got.err, got.out)
			}
		})
	}
	if _, err := os.Stat(missing); err == nil {
		t.Errorf("%s has been created", missing)
	}
	wantOutcome(t, command(t, "migrate", "plan", "--dsn", url, "orders"), findings, "Phase detach", "")
}

// Where nobody can be asked, nothing is done.
func TestMigrateUnconfirmed(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	shop(t, url)
	before := schema(t, url)
	got := commandWith(t.Context(), strings.NewReader("y\n"), "migrate", "apply", "--dsn", url, "orders")
	wantOutcome(t, got, usage, "", "standard input is no terminal, so nobody can confirm: give --yes; nothing has been changed")
	if schema(t, url) != before {
		t.Error("the database has been changed")
	}
}

// The examples of the help work as they stand there.
func TestMigrateExamples(t *testing.T) {
	postgres := testdb.URL(t, testdb.Postgres)
	for _, test := range []struct {
		name  string
		codes []int
	}{
		{"plan", []int{findings, findings}},
		{"files", []int{ok, ok}},
		{"apply", []int{ok, ok}},
		{"revert", []int{ok, ok}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			shop(t, "sqlite://shop.db")
			for i, args := range examples(t, []string{"migrate", test.name}) {
				for j, arg := range args {
					if strings.HasPrefix(arg, "postgres://") {
						shop(t, postgres)
						args[j] = postgres
					}
				}
				if got := command(t, args...); got.code != test.codes[i] {
					t.Errorf("%q ends with code %d, want %d:\n%s%s", args, got.code, test.codes[i], got.out, got.err)
				}
			}
		})
	}
}
