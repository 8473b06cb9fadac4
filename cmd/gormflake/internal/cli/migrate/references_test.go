package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// plan --write-references writes a file of the columns that may hold keys, as comments. After
// a person has changed these comments to entries, plan, apply and doctor read the file. A
// second run of plan adds new columns, and keeps the entries.
func TestReferencesFile(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		if db.Name() == "sqlite" {
			t.Skip("no column is too narrow")
		}
		clitest.Execute(t, db, "CREATE TABLE members (id bigint PRIMARY KEY)", "CREATE TABLE audits (member_id int, creator_id int)")
		file := filepath.Join(t.TempDir(), "refs.toml")
		plan := func(args ...string) clitest.Outcome {
			return clitest.Command(t, append(append([]string{"migrate", "plan", "--dsn", url}, args...), "members")...)
		}

		clitest.WantOutcome(t, plan("--write-references", file), clitest.Findings, "audits.member_id", "")
		text := read(t, file)
		for _, line := range []string{`  # "audits.member_id=members.id", # by its name`, `  # "audits.creator_id", # by its name`} {
			if !strings.Contains(text, line) {
				t.Fatalf("the file has no line %q:\n%s", line, text)
			}
		}
		text = strings.Replace(text, `# "audits.member_id=`, `"audits.member_id=`, 1)
		write(t, file, strings.Replace(text, `# "audits.creator_id",`, `"audits.creator_id",`, 1))

		if got := plan("--references", file); !strings.Contains(got.Out, "audits: ") || strings.Contains(got.Out, "not moved") {
			t.Errorf("plan does not move table audits, or asks for columns that the file explains:\n%s", got.Out)
		}
		clitest.Execute(t, db, "ALTER TABLE audits ADD COLUMN last_member_id int")
		clitest.WantOutcome(t, plan("--references", file, "--write-references", file), clitest.Findings, "last_member_id", "")
		if text = read(t, file); !strings.Contains(text, "\n  \"audits.creator_id\",\n") || !strings.Contains(text, `# "audits.last_member_id=members.id"`) {
			t.Errorf("the second run wrote\n%s\nwant the former entries and the new column", text)
		}
		write(t, file, strings.Replace(text, `# "audits.last_member_id",`, `"audits.last_member_id",`, 1))
		got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--references", file, "members")
		clitest.WantOutcome(t, got, clitest.OK, "next: gormflake doctor --dsn … --references "+file+"\n", "statements done")
		doctor := clitest.Command(t, "doctor", "--dsn", url, "--references", file)
		if !strings.Contains(doctor.Out, "no column that may hold keys of 1 moved table is too narrow") {
			t.Errorf("doctor printed\n%s", doctor.Out)
		}
	})
}

// A file that --references cannot read is a usage error. --write-references does not
// overwrite a file unless --references reads it too.
func TestReferencesFileMistakes(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "shop.db")
	clitest.Execute(t, clitest.Open(t, url), "CREATE TABLE orders (id integer PRIMARY KEY)")
	for name, test := range map[string]struct{ text, want string }{
		"no TOML":     {"reference = [", "expected"},
		"other key":   {`references = ["a.b=c.d"]`, `unknown key "references": want reference and not-reference`},
		"no text":     {"not-reference = [7]", "incompatible types"},
		"no key":      {`reference = ["a.b"]`, `--reference "a.b": want column=key`},
		"two strings": {`reference = "a.b=c.d"`, "incompatible types"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "refs.toml")
			write(t, file, test.text)
			clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--references", file, "orders"), clitest.Usage, "", test.want)
			got := clitest.Command(t, "migrate", "plan", "--dsn", url, "--write-references", file, "orders")
			clitest.WantOneLine(t, got, file+" exists already: give it with --references")
			if text := read(t, file); text != test.text {
				t.Errorf("the file was changed to %q", text)
			}
		})
	}
	clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "--references", "missing.toml", "orders"), clitest.Usage, "", "no such file")
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
