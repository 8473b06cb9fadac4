package cli_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// mistakes returns wrong command lines. Each must fail with exit code 2 and one line.
func mistakes() []struct{ args, want string } {
	return []struct{ args, want string }{
		{"gne", `unknown command "gne" for "gormflake"`},
		{"--what", "unknown flag: --what; see \"gormflake --help\""},
		{"aply", `unknown command "aply" for "gormflake" (did you mean migrate apply?)`},
		{"reset 3", `unknown command "reset" for "gormflake" (did you mean workers reset?)`},
		{"plan x", `unknown command "plan" for "gormflake" (did you mean migrate plan?)`},
		{"-- gen", `unknown command "gen" for "gormflake"`},
		{"version now", `"gormflake version" takes no arguments, got "now"`},
		{"completion bash now", `"gormflake completion bash" takes no arguments, got "now"`},
		{"gen", "no worker: give --worker"},
		{"gen 5", `"gormflake gen" takes no arguments, got "5"; see "gormflake gen --help"`},
		{"gen -5", "unknown shorthand flag: '5' in -5"},
		{"gen --worker 1 -n 0", "-n 0: want at least 1"},
		{"gen --worker 1 -n -5", "-n -5: want at least 1"},
		{"gen --worker 1 -n many", `invalid argument "many" for "-n, --count" flag: want a whole number`},
		{"gen --worker 1 -n 99999999999999999999", "flag: value out of range; see"},
		{"gen --worker 010", `invalid argument "010" for "--worker" flag: want a whole number in decimal, without a leading zero`},
		{"gen --worker 0x1", `invalid argument "0x1" for "--worker" flag: want a whole number in decimal`},
		{"gen --worker 1_0", `invalid argument "1_0" for "--worker" flag: want a whole number in decimal`},
		{"gen --worker=", `invalid argument "" for "--worker" flag: want a whole number in decimal`},
		{"gen --worker 1 --worker-bits 300", `invalid argument "300" for "--worker-bits" flag: value out of range`},
		{"gen --worker 1 --tick 5", `invalid argument "5" for "--tick" flag: want a duration such as 500ms, 10s or 1h30m`},
		{"gen --worker 1 --json=yes", `invalid argument "yes" for "--json" flag: want true or false`},
		{"gen --worker 32", "worker 32 out of range [0, 31]"},
		{"gen --worker -1", "worker -1 out of range [0, 31]"},
		{"gen --worker 1 --datacenter 32", "datacenter 32 out of range [0, 31]"},
		{"gen --worker 1 --as octal", `--as "octal": want one of decimal, base32, base58, base62, hex, serial`},
		{"gen --worker 1 --as serial", "--as serial needs --code"},
		{"gen --worker 1 --as base32 --json", "flags [as json], or their variables, exclude each other: want one of them"},
		{"gen --worker 1 --layout x", `--layout "x": want one of discord, instagram, js-safe, leaf, tsid, twitter, yitter`},
		{"gen --worker 1 --epoch x", `--epoch "x": want a time such as`},
		{"gen --worker 1 --worker-bits 60", "snowflake:"},
		{"gen --worker 1 --code PAY", "--code is for --as serial and for --json"},
		{"gen --worker 1 --as serial --code=", `invalid argument "" for "--code" flag: empty`},
		{"gen --worker 1 --epoch=", `invalid argument "" for "--epoch" flag: empty`},
		{"gen --worker 1 --dsn=", `invalid argument "" for "--dsn" flag: empty`},
		{"gen --worker 1 --window 10s", "--window is about workers in a database, and there is none"},
		{"gen --worker 1 --table ids", "--table is about workers in a database, and there is none"},
		{"gen --worker 1 --namespace ids", "--namespace is about workers in a database, and there is none"},
		{"gen --dsn sqlite://x --table a;b", "want a table or schema.table"},
		{"gen --dsn sqlite://x --window 1000h", "--window: lease: WithWindow(1000h0m0s) out of range [10ms, 24h0m0s]"},
		{"gen --dsn sqlite://x --layout js-safe --tick 1m", "--window: lease: WithWindow(1m0s): want at least three ticks of 1m0s"},
		{"gen --dsn sqlite://x --layout js-safe --tick 1m --window 3m --worker 64", "--worker: lease: WithWorker: worker 64 out of range [0, 63]"},
		{"gen --dsn sqlite://x --layout js-safe --worker 64", "--worker: lease: WithWorker: worker 64 out of range [0, 63]"},
		{"gen --dsn sqlite://x --layout js-safe --datacenter -1", "--datacenter: lease: WithDatacenter: datacenter -1 out of range [0, 0]"},
		{"serve --datacenter 1", "no worker: give --worker"},
		{"serve --dsn sqlite://x --window 1ms", "--window: lease: WithWindow(1ms) out of range [10ms, 24h0m0s]"},
		{"serve --allow-origin=", `invalid argument "" for "--allow-origin" flag: empty`},
		{"serve --timeout 0", "--timeout 0s: want more than zero"},
		{"serve --addr 127.0.0.1:none", `--addr "127.0.0.1:none": lookup tcp/none`},
		{"serve --window 10s", "--window is about workers in a database, and there is none"},
		{"serve --dsn=", `invalid argument "" for "--dsn" flag: empty`},
		{"serve --token-file=", `invalid argument "" for "--token-file" flag: empty`},
		{"serve --addr=", `invalid argument "" for "--addr" flag: empty`},
		{"serve --addr 127.0.0.1:", "no port"},
		{"serve --dsn sqlite://x --table a;b", "want a table or schema.table"},
		{"gen --dsn nonsense", "dsn: not a database URL"},
		{"gen --dsn oracle://db", `dsn: unknown scheme "oracle"`},
		{"parse -5", "-5 is neither a flag nor an ID"},
		{"parse --file=", `invalid argument "" for "-f, --file" flag: empty`},
		{"parse --since soon", `--since: time "soon": want a time such as`},
		{"parse --until -1x", `--until: time "-1x": want a time such as`},
		{"parse --since 2030-01-01 --until 2020-01-01", "no ID is of a time from 2030-01-01T00:00:00.000Z to 2020-01-01T00:00:00.000Z: want --since before --until"},
		{"parse --since +2d", "want --since before --until"},
		{"parse abc", `"abc" is not an ID`},
		{"min", `"gormflake min" wants one argument, TIME, got 0; see "gormflake min --help"`},
		{"min a b", `"gormflake min" wants one argument, TIME, got 2`},
		{"min -1h -2h", `"gormflake min" wants one argument, TIME, got 2`},
		{"min soon", clitest.WantTimeText},
		{"max -1x", `time "-1x": want a time such as`},
		{"max -- -1x", `time "-1x": want a time such as`},
		{"max now-1x", `time "now-1x": want a time such as`},
		{"max -1x --layout js-safe", `time "-1x": want a time such as`},
		{"min now --tick", "flag needs an argument: --tick"},
		{"min -1h --tick", "flag needs an argument: --tick"},
		{"-1x min", `time "-1x": want a time such as`},
		{"max -h1", "unknown shorthand flag: '1' in -1"},
		{"min --tick -1ms now", "layout's tick -1ms: want whole milliseconds"},
		{"min now --tick=-1x", `invalid argument "-1x" for "--tick" flag`},
		{"max 1960-01-01", "is outside the layout"},
		{"workers", "no database: give --dsn or set GORMFLAKE_DSN"},
		{"workers all --dsn sqlite://x", `unknown command "all"`},
		{"workers --dsn sqlite://", "dsn: sqlite path is empty"},
		{"workers --dsn sqlite://x --table a;b", "want a table or schema.table"},
		{"help gne", `unknown command "gne" for "gormflake"`},
		{"help workers gne", `unknown command "gne" for "gormflake workers"`},
		{"completion gne", `unknown command "gne" for "gormflake completion"`},
		{"workers release --dsn sqlite://x", `"gormflake workers release" wants an argument, WORKER`},
		{"workers raise --dsn sqlite://x", "flag --to is missing"},
		{"workers raise --dsn sqlite://x --to=", `invalid argument "" for "--to" flag: empty`},
		{"workers raise --dsn sqlite://x --to now all", `"gormflake workers raise" takes no arguments, got "all"`},
		{"workers reset --dsn sqlite://x", `"gormflake workers reset" wants an argument, WORKER; see`},
		{"workers reset 0/1 --dsn sqlite://x --column=", `invalid argument "" for "--column" flag: empty`},
		{"workers reset 0/1 --dsn sqlite://x --table a;b", "want a table or schema.table"},
		{"workers ddl", "flag --dialect is missing"},
		{"workers ddl --dialect oracle", `dialect "oracle" is not supported`},
		{"workers ddl --dialect mysql --table a;b", "want a table or schema.table"},
		{"doctor --dsn sqlite://x --skip=", `invalid argument "" for "--skip" flag: empty`},
		{"migrate plan --dsn sqlite://x --reference= orders", `invalid argument "" for "--reference" flag: empty`},
		{"migrate files --dsn sqlite://x --format goose --dir= orders", `invalid argument "" for "--dir" flag: empty`},
		{"migrate files --dsn sqlite://x --format goose --table x orders", "--table is the name of the table of --lease-table: give both or neither"},
	}
}

// Each mistake ends with exit code 2 and one line, which says what was wanted.
func TestMistakes(t *testing.T) {
	t.Setenv("GORMFLAKE_DSN", "")
	for _, test := range mistakes() {
		clitest.WantUsage(t, clitest.CommandWith(t.Context(), strings.NewReader(""), strings.Fields(test.args)...), test.want)
	}
}

// version and --version print the same line, with the version of Go.
func TestVersion(t *testing.T) {
	t.Parallel()
	long, short := clitest.Printed(t, clitest.Command(t, "version")), clitest.Printed(t, clitest.Command(t, "--version"))
	if long != short || !strings.HasPrefix(long, "gormflake version ") || !strings.Contains(long, " go1.") {
		t.Errorf("version: %q, --version: %q", long, short)
	}
}

// Each shell has a script, and the hidden command __complete, which the scripts call,
// completes flags and their values.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := clitest.Printed(t, clitest.Command(t, "completion", shell)); !strings.Contains(out, "gormflake") {
			t.Errorf("completion of %s: %.100q", shell, out)
		}
	}
	if out := clitest.Command(t, "__complete", "parse", "--file", "x", "--fi").Out; !strings.HasPrefix(out, "--file") {
		t.Errorf("completions of a flag that may be repeated: %q", out)
	}
	if out := clitest.Command(t, "__complete", "gen", "--as", "base").Out; !strings.Contains(out, "base58\n") {
		t.Errorf("completions of --as: %q", out)
	}
}

// An empty argument is an error, because an unset variable of a script produces it.
func TestEmptyArguments(t *testing.T) {
	t.Parallel()
	existing := testdb.URL(t, testdb.SQLite)
	clitest.Touch(t, existing)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{""}, `unknown command "" for "gormflake"`},
		{[]string{"migrate", ""}, `unknown command "" for "gormflake migrate"`},
		{[]string{"gen", ""}, `takes no arguments, got ""`},
		{[]string{"min", ""}, `time ""`},
		{[]string{"migrate", "revert", ""}, "want one file"},
		{[]string{"migrate", "plan", "--dsn", existing, ""}, `"" is not the name of a table`},
		{[]string{"doctor", "--dsn", existing, ""}, `takes no arguments, got ""`},
	} {
		clitest.WantUsage(t, clitest.Command(t, test.args...), test.want)
	}
}

// A name that is invalid in every database is a usage error. A valid name that this database
// lacks is a failure.
func TestMistakenNames(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		for _, args := range []string{"migrate plan a.b.c.d", "migrate plan orders --reference audit=orders.id", "migrate apply --yes orders --reference ="} {
			clitest.WantUsage(t, clitest.Command(t, append(strings.Fields(args), "--dsn", url)...), "is not the name of a")
		}
		for args, want := range map[string]string{
			"migrate plan none": "table none",
			"migrate plan orders --reference none.x=audit.y": "none",
		} {
			clitest.WantOneLine(t, clitest.Command(t, append(strings.Fields(args), "--dsn", url)...), want)
		}
	})
}

// "help NAME" prints the same as "NAME --help". No line has more than 80 characters, except
// commands to copy.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, name := range commands(t) {
		words := strings.Fields(name)
		text := clitest.Printed(t, clitest.Command(t, append(words, "--help")...))
		if got := clitest.Printed(t, clitest.Command(t, append([]string{"help"}, words...)...)); got != text {
			t.Errorf("help %s:\n%s\n%s --help:\n%s", name, got, name, text)
		}
		if strings.Contains(text, "(default 0s)") || strings.Contains(text, "(default [])") {
			t.Errorf("the help of %q shows what stands for no default:\n%s", name, text)
		}
		for _, line := range clitest.Lines(text) {
			if n := utf8.RuneCountInString(line); n > 80 && !isCommand(line) {
				t.Errorf("help of %q: a line of %d characters: %s", name, n, line)
			}
		}
	}
	if text := clitest.Printed(t, clitest.Command(t)); !strings.Contains(text, "Exit codes:") {
		t.Errorf("no exit codes in\n%s", text)
	}
}

// isCommand reports whether the line is a command to copy, which the help must not wrap.
func isCommand(line string) bool {
	return strings.HasPrefix(line, "  gormflake ") || strings.HasPrefix(line, `Use "gormflake `)
}

// commands returns the names of all commands in the order of the help. The first name is
// empty, for the root command.
func commands(t *testing.T) []string {
	t.Helper()
	all := []string{""}
	for i := 0; i < len(all); i++ {
		text := clitest.Printed(t, clitest.Command(t, append(strings.Fields(all[i]), "--help")...))
		_, rest, _ := strings.Cut(text, "\nAvailable Commands:\n")
		list, _, _ := strings.Cut(rest, "\n\n")
		for line := range strings.Lines(list) {
			all = append(all, strings.TrimSpace(all[i]+" "+strings.Fields(line)[0]))
		}
	}
	if len(all) < 20 {
		t.Fatalf("commands %q, want more than 20", all)
	}
	return all
}

// secret is the password in the URLs of the tests. No output may contain it.
const secret = "sEcr3tPassw0rd"

// If a database cannot be opened, the command fails with exit code 1 and one line, which does
// not contain the password.
func TestDatabaseErrors(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"sqlite://" + folder + "/no/such.db":                                       "there is no file",
		"sqlite://" + folder:                                                       "is a folder",
		"sqlite://" + text:                                                         "database " + text + ": file is not a database",
		"mysql://app:" + secret + "@127.0.0.1:1/app":                               "refused",
		"postgres://app:" + secret + "@127.0.0.1:1/app":                            "refused",
		"postgres://app:" + secret + "@127.0.0.1:1,127.0.0.1:2/app":                "refused",
		"mysql://app:" + secret + "@no-such-host.invalid/app":                      "no-such-host.invalid",
		"postgres://app:" + secret + "@no-such-host.invalid/app?connect_timeout=9": "no-such-host.invalid",
	} {
		for _, args := range []string{"gen --dsn", "workers --dsn", "workers release 0/1 --yes --dsn"} {
			got := clitest.Command(t, append(strings.Fields(args), url)...)
			clitest.WantOneLine(t, got, want)
			if strings.Contains(got.Err, secret) {
				t.Errorf("%s shows the password: %s", args, got.Err)
			}
		}
	}
}

// The error for a malformed URL does not contain the password.
func TestDatabaseURLErrors(t *testing.T) {
	t.Parallel()
	for _, form := range []string{
		"mysql://app:%s@", "mysql://app:%s/x@host/app", "mysql://app:%s@host:port/app", "mysql://app:%s@host/app?what=1",
		"postgres://app:%s/x@host/app", "postgres://app:%s@host:port/app", "postgres://app:%s@host/app?sslmode=what", "postgres://app:%%zz%s@host/app",
		"app:%s@tcp(host)/app", "host=db password=%s", "ftp://app:%s@host",
	} {
		for _, args := range []string{"gen --dsn", "workers --dsn"} {
			got := clitest.Command(t, append(strings.Fields(args), fmt.Sprintf(form, secret))...)
			if got.Code == 0 || strings.Count(got.Err, "\n") != 1 || strings.Contains(got.Err, secret) {
				t.Errorf("%s %s: code %d, %s", args, form, got.Code, got.Err)
			}
		}
	}
}

// The error of a server that rejects the login does not contain the password. PostgreSQL
// reports that the role does not exist (28000), or only that the password is wrong (28P01) if
// its pg_hba.conf asks for passwords.
func TestRefusedByServer(t *testing.T) {
	t.Parallel()
	for target, want := range map[testdb.Target]string{testdb.MariaDB: "denied", testdb.MySQL: "denied", testdb.Postgres: "SQLSTATE 28"} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(testdb.URL(t, target))
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword("gormflake_nobody", secret)
			got := clitest.Command(t, "workers", "--dsn", u.String())
			clitest.WantOneLine(t, got, want)
			if strings.Contains(got.Err, secret) {
				t.Errorf("the password is told: %s", got.Err)
			}
		})
	}
}
