package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// The file of a stage, such as swap.up, fails while an earlier stage is not done, and its
// error names the command to run. After the stage is done, running the file again does
// nothing.
//
// A file with .down changes nothing in any case, because only "migrate online revert" takes a
// stage back. If its stage has been taken back or was never done, the file succeeds. Otherwise
// it fails, and its error names this command, or says that there is no way back.
func TestMigrateOnlineFiles(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db, dir := clitest.Shop(t, url), t.TempDir()
		online := func(verb string, args ...string) clitest.Outcome {
			return clitest.Command(t, append([]string{"migrate", "online", verb, "--dsn", url, "orders", "order_lines"}, args...)...)
		}
		swap := online("files", "--format", "golang-migrate", "--dir", dir, "--stage", "swap")
		if db.Name() != "postgres" {
			clitest.WantOutcome(t, swap, clitest.Failed, "", "stages in files need PostgreSQL: carry out stage swap with gormflake migrate online apply")
			return
		}
		clitest.WantOutcome(t, swap, clitest.OK, "_snowflake_online_swap.up.sql", "")
		runFile(t, db, dir, "swap.up", "no online move is under way: run gormflake migrate online apply --until constrain first")
		runFile(t, db, dir, "swap.down", "")
		clitest.WantOutcome(t, online("files", "--format", "golang-migrate", "--dir", dir, "--stage", "prepare"), clitest.OK, "_snowflake_online_prepare.up.sql", "")
		runFile(t, db, dir, "prepare.up", "")
		runFile(t, db, dir, "prepare.up", "")
		runFile(t, db, dir, "prepare.down", "the move is under way: run gormflake migrate online revert first")
		clitest.WantOutcome(t, online("revert", "--yes"), clitest.OK, "taken back", "prepare ")
		runFile(t, db, dir, "prepare.down", "")
		runFile(t, db, dir, "prepare.up", "")
		clitest.WantOutcome(t, online("apply", "--yes", "--until", "copy"), clitest.OK, "applied", "copy ")
		runFile(t, db, dir, "swap.up", "steps before stage swap are done: run gormflake migrate online apply --until constrain first")
		clitest.WantOutcome(t, online("apply", "--yes", "--until", "constrain"), clitest.OK, "applied", "constrain ")
		clitest.WantOutcome(t, online("throttle", "--hold-swap"), clitest.OK, "the swap waits for resume", "")
		runFile(t, db, dir, "swap.up", "the move is paused: run gormflake migrate online resume")
		clitest.WantOutcome(t, online("resume"), clitest.OK, "stage swap", "")
		tx := db.Begin() // the swap waits until this transaction releases its lock on the table
		if err := tx.Exec("SELECT count(*) FROM orders").Error; err != nil {
			t.Fatal(err)
		}
		commit := time.AfterFunc(time.Second, func() { tx.Commit() })
		runFile(t, db, dir, "swap.up", "")
		if commit.Stop() { // true if it has not run yet
			t.Error("the swap has not waited for a transaction")
		}
		clitest.WantOutcome(t, online("status"), clitest.OK, "the keys are wide; next: gormflake migrate online finish, or revert", "")
		runFile(t, db, dir, "swap.up", "")
		runFile(t, db, dir, "swap.down", "the keys are wide: run gormflake migrate online revert first")
		clitest.WantOutcome(t, online("revert", "--yes"), clitest.OK, "taken back", "swap ")
		runFile(t, db, dir, "swap.down", "")

		clitest.WantOutcome(t, online("apply", "--yes", "--until", "constrain"), clitest.OK, "applied", "constrain ")
		runFile(t, db, dir, "swap.up", "")
		clitest.WantOutcome(t, online("files", "--format", "golang-migrate", "--dir", dir, "--stage", "finish"), clitest.OK, "_snowflake_online_finish.up.sql", "")
		runFile(t, db, dir, "finish.up", "")
		clitest.WantOutcome(t, online("status"), clitest.OK, "no move is under way", "")
		runFile(t, db, dir, "finish.up", "")
		runFile(t, db, dir, "finish.down", "the old columns have been dropped: there is no way back")
		runFile(t, db, dir, "swap.up", "")
		clitest.WantOutcome(t, online("plan"), clitest.OK, "nothing to do", "")
		clitest.WantOutcome(t, online("files", "--format", "goose", "--dir", t.TempDir(), "--stage", "swap"), clitest.Failed, "", "nothing to do: the keys are wide")
		for _, table := range []string{"orders", "order_lines"} {
			var oldColumns int
			err := db.Raw("SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema AND table_name = ? AND (column_name LIKE 'gormflake%' OR column_name LIKE '%id' AND data_type <> 'bigint')", table).Scan(&oldColumns).Error
			if err != nil || oldColumns != 0 {
				t.Errorf("table %s has %d columns that are old or narrow, %v", table, oldColumns, err)
			}
		}
	})
}

// A foreign key to a partitioned table is validated after the swap, which the file of stage
// swap does not do. So the file must fail, and name the command "migrate online apply --until
// swap". Once this command has swapped the columns and validated the foreign key, the file
// succeeds.
func TestMigrateOnlineFilesOfPartitions(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db, dir := clitest.Open(t, url), t.TempDir()
		if db.Name() != "postgres" {
			return
		}
		clitest.Execute(t, db, "CREATE TABLE days (id serial, day integer, PRIMARY KEY (id, day)) PARTITION BY LIST (day)",
			"CREATE TABLE day_1 PARTITION OF days FOR VALUES IN (1)",
			"CREATE TABLE notes (id integer PRIMARY KEY, day_id integer, day integer, FOREIGN KEY (day_id, day) REFERENCES days)")
		online := func(verb string, args ...string) clitest.Outcome {
			return clitest.Command(t, append([]string{"migrate", "online", verb, "--dsn", url, "days", "notes"}, args...)...)
		}
		clitest.WantOutcome(t, online("files", "--format", "golang-migrate", "--dir", dir, "--stage", "swap"), clitest.OK, "_snowflake_online_swap.up.sql", "")
		clitest.WantOutcome(t, online("apply", "--yes", "--until", "constrain"), clitest.OK, "applied", "constrain ")
		runFile(t, db, dir, "swap.up", "a foreign key is validated after the swap: run gormflake migrate online apply --until swap")
		clitest.WantOutcome(t, online("apply", "--yes"), clitest.OK, "applied", "swap ")
		runFile(t, db, dir, "swap.up", "")
	})
}

// runFile executes the statement of a file. If want is not empty, the statement must fail with
// this error. A statement that succeeds must not change the search_path, because the migration
// tool runs its own statements in the same transaction.
func runFile(t *testing.T, db *gorm.DB, dir, name, want string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*_snowflake_online_"+name+".sql"))
	if len(files) != 1 {
		t.Fatalf("files %s: %v, want one", name, files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// The file has a single statement, which begins with DO. Comments may stand before it.
	_, statement, _ := strings.Cut(string(text), "DO $")
	err = db.Transaction(func(tx *gorm.DB) error {
		var before, after string
		tx.Raw("SHOW search_path").Scan(&before)
		if err := tx.Exec("DO $" + statement).Error; err != nil {
			return err
		}
		if tx.Raw("SHOW search_path").Scan(&after); after != before {
			t.Errorf("%s has left the search_path %q for the tool's own statements, want %q", name, after, before)
		}
		return nil
	})
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "gormflake: ") || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// A stage that takes too long for a migration, such as copy, is a usage error, and so is a
// missing format.
func TestMigrateOnlineFilesMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ format, stage, want string }{
		{"goose", "copy", `--stage "copy": want one of prepare, swap, finish`},
		{"goose", "", `--stage "": want one of prepare, swap, finish`},
		{"", "swap", "no --format: want one of golang-migrate, goose, atlas"},
	} {
		got := clitest.Command(t, "migrate", "online", "files", "--dsn", "sqlite://x", "--format="+test.format, "--stage="+test.stage, "orders")
		clitest.WantOutcome(t, got, clitest.Usage, "", test.want)
	}
}
