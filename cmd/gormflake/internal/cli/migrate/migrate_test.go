package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// plan, apply and revert work in this order, and revert restores the schema.
func TestMigrate(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		saved := filepath.Join(t.TempDir(), "moved.json")
		before := clitest.Schema(t, url)
		plan := clitest.Command(t, "migrate", "plan", "--dsn", url, "orders")
		clitest.WantOutcome(t, plan, clitest.Findings, "Phase detach", "")

		got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", saved, "orders", "order_lines")
		clitest.WantOutcome(t, got, clitest.OK, "detach, guard\nnext: gormflake doctor --dsn …\n", "guard 1/")
		clitest.WantOutcome(t, got, clitest.OK, `model: orders.id is a types.ID with the tag snowflake:"pk"`, "statements done after")
		clitest.WantOutcome(t, got, clitest.OK, "model: order_lines.order_id is a types.ID\n", "orders: ")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--not-reference", "audit.order_id", "orders", "order_lines"), clitest.OK, "nothing to do", "")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "orders", "order_lines"), clitest.OK, "nothing to do: orders, order_lines", "")
		if clitest.Schema(t, url) == before {
			t.Fatal("apply has changed nothing")
		}

		clitest.WantOutcome(t, clitest.Command(t, "migrate", "revert", "--dsn", url, "--yes", saved), clitest.OK, "taken back: ", "to take back phase ")
		if after := clitest.Schema(t, url); after != before {
			t.Errorf("after revert:\n%s\nwant what was before:\n%s", after, before)
		}
	})
}

// apply runs only the phases of --phases, and prints the command for the remaining phases. On
// SQLite, phase widen has no statements.
func TestMigratePhases(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "widen", "orders")
		if db.Name() == "sqlite" {
			clitest.WantOutcome(t, got, clitest.OK, "nothing to do: what is left is of detach and guard", "")
			return
		}
		clitest.WantOutcome(t, got, clitest.OK, "applied: widen\nnext: deploy programs that assign keys", "widen 1/")
		clitest.WantOutcome(t, got, clitest.OK, "next: gormflake migrate apply --dsn … --phases detach,guard ", "widen 1/")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "orders"), clitest.Findings, "2 phases", "")
	})
}

// The commands that are printed after "next:" work as printed. The first of them is migrate
// apply with the last phase, which prints the second, doctor. The test names only table
// orders. The printed command must not name order_lines too, although order_lines refers to
// orders, because it would then move the keys of order_lines.
func TestMigrateNext(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--phases", "widen,detach", "--layout", "js-safe", "--reference", "audit.order_id=orders.id", "orders")
		for range 2 {
			_, next, found := strings.Cut(got.Out, "\nnext: gormflake ")
			if !found {
				t.Fatalf("nothing is next:\n%s", got.Out)
			}
			next, _, _ = strings.Cut(next, "\n")
			if !strings.Contains(next, " --layout js-safe") {
				t.Errorf("next is %s, which has another layout", next)
			}
			args := strings.Fields(strings.Replace(next, "…", url, 1))
			if args[0] == "migrate" {
				args = append(args, "--yes", "--save", "")
			}
			got = clitest.Command(t, args...)
			if got.Code != clitest.OK {
				t.Fatalf("%s: code %d\n%s%s", next, got.Code, got.Out, got.Err)
			}
		}
		clitest.WantOutcome(t, got, clitest.OK, "all is well", "")
		later := clitest.Command(t, "migrate", "plan", "--dsn", url, "--details", "order_lines")
		clitest.WantOutcome(t, later, clitest.Findings, "order_lines: ", "")
		if _, assigned, _ := strings.Cut(later.Out, "Tables"); !strings.Contains(assigned, "key, auto") && !strings.Contains(assigned, "key, serial") {
			t.Errorf("the keys of order_lines were not to be moved:\n%s", later.Out)
		}
	})
}

// With --reference, the plan includes a column that refers to a key although the database
// has no foreign key for it. The plan then shows two columns that refer to orders.id,
// because order_lines.order_id has a foreign key, and audit.order_id is the reference of
// the flag.
func TestMigrateReference(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		const column = "refers to orders.id"
		if got := clitest.Command(t, "migrate", "plan", "--dsn", url, "orders"); strings.Contains(got.Out, "\n  audit: ") {
			t.Fatalf("audit is connected already:\n%s", got.Out)
		}
		got := clitest.Command(t, "migrate", "plan", "--dsn", url, "--details", "--reference", "audit.order_id=orders.id", "orders")
		clitest.WantOutcome(t, got, clitest.Findings, "audit: ", "")
		if strings.Count(got.Out, column) != 2 {
			t.Errorf("want two columns that refer to orders.id:\n%s", got.Out)
		}
	})
}

// files writes the selected phases and the table of workers, prints the names, and changes
// neither the database nor files that exist.
func TestMigrateFiles(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		dir := filepath.Join(t.TempDir(), "migrations")
		before := clitest.Schema(t, url)
		got := clitest.Command(t, "migrate", "files", "--dsn", url, "--format", "golang-migrate", "--dir", dir, "--lease-table", "--table", "workers", "--phases", "guard", "orders")
		clitest.WantOutcome(t, got, clitest.OK, "_snowflake_lease.up.sql\n", "")
		clitest.WantOutcome(t, got, clitest.OK, "_snowflake_guard.down.sql\n", "")
		for name := range strings.FieldsSeq(got.Out) {
			text, err := os.ReadFile(name)
			if err != nil || len(text) == 0 {
				t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
			if strings.HasSuffix(name, "_lease.up.sql") && !strings.Contains(string(text), "workers") {
				t.Errorf("%s does not create the table that --table names:\n%s", name, text)
			}
		}
		want := 4 // a file for each way, of the table of workers and of phase guard
		if strings.HasPrefix(url, "postgres://") {
			want = 6 // guard validates its CHECK in a separate transaction, and so in further files
		}
		if n := len(strings.Fields(got.Out)); n != want {
			t.Errorf("%d files are named, want %d:\n%s", n, want, got.Out)
		}
		again := clitest.Command(t, "migrate", "files", "--dsn", url, "--format", "golang-migrate", "--dir", dir, "--phases", "guard", "orders")
		clitest.WantOneLine(t, again, "is this migration already")
		if clitest.Schema(t, url) != before {
			t.Error("writing files has changed the database")
		}
	})
}

// A key that is ahead of the clock blocks the move, because a generator could issue it again.
// plan shows the blocker, and apply and files fail with a single line.
func TestMigrateBlocked(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Shop(t, url)
		key := "BIGINT"
		if db.Name() == "mysql" {
			key += " AUTO_INCREMENT"
		}
		if db.Name() == "sqlite" {
			key = "INTEGER"
		}
		clitest.Execute(
			t, db,
			"CREATE TABLE late (id "+key+" PRIMARY KEY)",
			"INSERT INTO late VALUES (9000000000000000000)",
		)
		if db.Name() == "postgres" {
			clitest.Execute(t, db, "ALTER TABLE late ALTER id ADD GENERATED BY DEFAULT AS IDENTITY")
		}
		before := clitest.Schema(t, url)
		plan := clitest.Command(t, "migrate", "plan", "--dsn", url, "late")
		clitest.WantOneLine(t, plan, "blocker stands in the way")
		clitest.WantOutcome(t, plan, clitest.Failed, "Blocked by", "fix: ")
		clitest.WantOneLine(t, clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "late"), `see "gormflake migrate plan"`)
		clitest.WantOneLine(t, clitest.Command(t, "migrate", "files", "--dsn", url, "--format", "goose", "--dir", t.TempDir(), "late"), "blocker stands in the way")
		if clitest.Schema(t, url) != before {
			t.Error("a blocked plan has changed the database")
		}
	})
}

// A mistake ends with one line that names the expected value, and does not contain the
// password. Only a mistake in the command line itself has the exit code for usage.
func TestMigrateMistakes(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Shop(t, url)
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
		{"no table", []string{"plan", "--dsn", url}, clitest.Usage, "no table: name the tables to move"},
		{"no table to apply", []string{"apply", "--dsn", url}, clitest.Usage, "no table: name the tables to move"},
		{"no table for files", []string{"files", "--dsn", url, "--format", "goose"}, clitest.Usage, "no table: name the tables to move"},
		{"no database", []string{"plan", "orders"}, clitest.Usage, "no database: give --dsn"},
		{"no URL", []string{"plan", "--dsn", "app:hunter2@tcp(db)/shop", "orders"}, clitest.Usage, "dsn: not a database URL"},
		{"no such file", []string{"plan", "--dsn", "sqlite://" + missing, "orders"}, clitest.Failed, "database: there is no file"},
		{"apply to no such file", []string{"apply", "--dsn", "sqlite://" + missing, "orders"}, clitest.Failed, "database: there is no file"},
		{"nobody listens", []string{"plan", "--dsn", "postgres://app:hunter2@127.0.0.1:1/shop", "orders"}, clitest.Failed, "connection refused"},
		{"nobody listens either", []string{"plan", "--dsn", "mysql://app:hunter2@127.0.0.1:1/shop", "orders"}, clitest.Failed, "connection refused"},
		{"unknown table", []string{"plan", "--dsn", url, "nowhere"}, clitest.Failed, "there is no table nowhere"},
		{"reference without key", []string{"plan", "--dsn", url, "--reference", "audit.order_id", "orders"}, clitest.Usage, "want column=key"},
		{"reference to nothing", []string{"plan", "--dsn", url, "--reference", "audit.nothing=orders.id", "orders"}, clitest.Failed, "nothing"},
		{"unknown layout", []string{"plan", "--dsn", url, "--layout", "odd", "orders"}, clitest.Usage, `--layout "odd"`},
		{"unknown phase", []string{"apply", "--dsn", url, "--phases", "odd", "orders"}, clitest.Usage, `--phases "odd": want some of widen, detach, guard`},
		{"no phase", []string{"apply", "--dsn", url, "--phases", "", "orders"}, clitest.Usage, `invalid argument "" for "--phases" flag: empty`},
		{"negative timeout", []string{"apply", "--dsn", url, "--lock-timeout", "-1s", "orders"}, clitest.Usage, "--lock-timeout -1s: want zero or more"},
		{"negative retries", []string{"apply", "--dsn", url, "--retry-for", "-1s", "orders"}, clitest.Usage, "--retry-for -1s: want zero or more"},
		{"no format", []string{"files", "--dsn", url, "orders"}, clitest.Usage, "no --format: want one of golang-migrate, goose, atlas"},
		{"unknown format", []string{"files", "--dsn", url, "--format", "odd", "orders"}, clitest.Usage, `--format "odd": want one of golang-migrate, goose, atlas`},
		{"odd table of workers", []string{"files", "--dsn", url, "--format", "goose", "--lease-table", "--table", "a b"}, clitest.Usage, `WithTable("a b")`},
		{"no file to revert", []string{"revert", "--dsn", url}, clitest.Usage, "want one file"},
		{"file is missing", []string{"revert", "--dsn", url, "nowhere.json"}, clitest.Failed, "read the saved plan: open nowhere.json"},
		{"file of another program", []string{"revert", "--dsn", url, file}, clitest.Failed, "form 7 of a saved plan: want 1"},
		{"unknown flag", []string{"plan", "--dsn", url, "--odd", "orders"}, clitest.Usage, "unknown flag: --odd"},
		{"taken name", []string{"apply", "--dsn", url, "--yes", "--save", taken, "orders"}, clitest.Failed, "nothing has been changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := clitest.Command(t, append([]string{"migrate"}, test.args...)...)
			clitest.WantOutcome(t, got, test.code, got.Out, test.want) // accepts any standard output
			lines := strings.Split(strings.TrimSpace(got.Err), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "gormflake: ") || !strings.Contains(last, test.want) {
				t.Errorf("the last line is %q, want gormflake: … %s", last, test.want)
			}
			if strings.Contains(got.Err+got.Out, "hunter2") {
				t.Errorf("the password is shown:\n%s%s", got.Err, got.Out)
			}
		})
	}
	if _, err := os.Stat(missing); err == nil {
		t.Errorf("%s has been created", missing)
	}
	clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "orders"), clitest.Findings, "Phase detach", "")
}

// If standard input is not a terminal, apply cannot ask for confirmation, and changes nothing.
func TestMigrateUnconfirmed(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Shop(t, url)
	before := clitest.Schema(t, url)
	got := clitest.CommandWith(t.Context(), strings.NewReader("y\n"), "migrate", "apply", "--dsn", url, "orders")
	clitest.WantOutcome(t, got, clitest.Usage, "", "standard input is not a terminal, so nobody can confirm: give --yes; nothing has been changed")
	if clitest.Schema(t, url) != before {
		t.Error("the database has been changed")
	}
}

// The examples of the help work as printed. codes are the exit codes of a command's
// examples.
func TestMigrateExamples(t *testing.T) {
	postgres := testdb.URL(t, testdb.Postgres)
	for _, test := range []struct {
		name  string
		codes []int
	}{
		{"plan", []int{clitest.Findings, clitest.Findings}},
		{"files", []int{clitest.OK, clitest.OK}},
		{"apply", []int{clitest.OK, clitest.OK}},
		{"revert", []int{clitest.OK, clitest.OK}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			clitest.Shop(t, "sqlite://shop.db")
			for i, args := range clitest.Examples(t, []string{"migrate", test.name}) {
				for j, arg := range args {
					if strings.HasPrefix(arg, "postgres://") {
						clitest.Shop(t, postgres)
						args[j] = postgres
					}
				}
				if got := clitest.Command(t, args...); got.Code != test.codes[i] {
					t.Errorf("%q ends with code %d, want %d:\n%s%s", args, got.Code, test.codes[i], got.Out, got.Err)
				}
			}
		})
	}
}
