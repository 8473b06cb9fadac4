package cli_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gormflake/gormflake/internal/testdb"
)

// Mistakes of the command line: exit code 2, and one line.
func mistakes() []struct{ args, want string } {
	return []struct{ args, want string }{
		{"gne", `unknown command "gne" for "gormflake"`},
		{"--what", "unknown flag: --what; see \"gormflake --help\""},
		{"version now", `unknown command "now"`},
		{"gen", "no worker: give --worker"},
		{"gen 5", `unknown command "5" for "gormflake gen"`},
		{"gen --worker 1 -n 0", "-n 0: want at least 1"},
		{"gen --worker 1 -n -5", "-n -5: want at least 1"},
		{"gen --worker 1 -n many", `invalid argument "many" for "-n, --count" flag`},
		{"gen --worker 32", "worker 32 out of range [0, 31]"},
		{"gen --worker -1", "worker -1 out of range [0, 31]"},
		{"gen --worker 1 --datacenter 32", "datacenter 32 out of range [0, 31]"},
		{"gen --worker 1 --as hex", `--as "hex": want one of decimal, base32, base58, base62, serial`},
		{"gen --worker 1 --as serial", "--as serial needs --code"},
		{"gen --worker 1 --as base32 --json", "none of the others can be"},
		{"gen --worker 1 --layout x", `--layout "x": want one of discord, js-safe, twitter`},
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
		{"serve --datacenter 1", "no worker: give --worker"},
		{"serve --window 10s", "--window is about workers in a database, and there is none"},
		{"serve --dsn=", `invalid argument "" for "--dsn" flag: empty`},
		{"serve --token-file=", `invalid argument "" for "--token-file" flag: empty`},
		{"serve --addr=", `invalid argument "" for "--addr" flag: empty`},
		{"serve --addr 127.0.0.1:", "no port"},
		{"serve --dsn sqlite://x --table a;b", "want a table or schema.table"},
		{"gen --dsn nonsense", "dsn: not a database URL"},
		{"gen --dsn oracle://db", `dsn: unknown scheme "oracle"`},
		{"parse -5", "-5 is neither a flag nor an ID"},
		{"parse abc", `"abc" is no ID`},
		{"min", "accepts 1 arg(s), received 0"},
		{"min a b", "accepts 1 arg(s), received 2"},
		{"min soon", wantTimeText},
		{"max 1960-01-01", "is outside the layout"},
		{"workers", "no database: give --dsn or set GORMFLAKE_DSN"},
		{"workers all --dsn sqlite://x", `unknown command "all"`},
		{"workers --dsn sqlite://", "dsn: sqlite path is empty"},
		{"workers --dsn sqlite://x --table a;b", "want a table or schema.table"},
		{"help gne", `unknown command "gne" for "gormflake"`},
		{"help workers gne", `unknown command "gne" for "gormflake workers"`},
		{"completion gne", `unknown command "gne" for "gormflake completion"`},
		{"workers release --dsn sqlite://x", "accepts 1 arg(s), received 0"},
		{"workers ddl", `required flag(s) "dialect" not set`},
		{"workers ddl --dialect oracle", `dialect "oracle" is not supported`},
		{"workers ddl --dialect mysql --table a;b", "want a table or schema.table"},
	}
}

func TestMistakes(t *testing.T) {
	t.Setenv("GORMFLAKE_DSN", "")
	for _, test := range mistakes() {
		wantUsage(t, commandWith(t.Context(), strings.NewReader(""), strings.Fields(test.args)...), test.want)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	long, short := printed(t, command(t, "version")), printed(t, command(t, "--version"))
	if long != short || !strings.HasPrefix(long, "gormflake version ") || !strings.Contains(long, " go1.") {
		t.Errorf("version: %q, --version: %q", long, short)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := printed(t, command(t, "completion", shell)); !strings.Contains(out, "gormflake") {
			t.Errorf("completion of %s: %.100q", shell, out)
		}
	}
	if out := command(t, "__complete", "gen", "--as", "base").out; !strings.Contains(out, "base58\n") {
		t.Errorf("completions of --as: %q", out)
	}
}

// The help of a command is the same by either way, and fits a screen.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "gen", "parse", "min", "serve", "workers", "workers release", "completion", "completion bash", "help"} {
		words := strings.Fields(name)
		text := printed(t, command(t, append(words, "--help")...))
		if got := printed(t, command(t, append([]string{"help"}, words...)...)); got != text {
			t.Errorf("help %s:\n%s\n%s --help:\n%s", name, got, name, text)
		}
		for _, line := range lines(text) {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("help of %q: a line of %d characters: %s", name, n, line)
			}
		}
	}
	if text := printed(t, command(t)); !strings.Contains(text, "Exit codes:") {
		t.Errorf("no exit codes in\n%s", text)
	}
}

const secret = "sEcr3tPassw0rd"

// Databases that cannot be used: exit code 1, one line, and no password in it.
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
			got := command(t, append(strings.Fields(args), url)...)
			wantOneLine(t, got, want)
			if strings.Contains(got.err, secret) {
				t.Errorf("%s tells the password: %s", args, got.err)
			}
		}
	}
}

// Malformed URLs do not tell the password either.
func TestDatabaseURLErrors(t *testing.T) {
	t.Parallel()
	for _, form := range []string{
		"mysql://app:%s@", "mysql://app:%s/x@host/app", "mysql://app:%s@host:port/app", "mysql://app:%s@host/app?what=1",
		"postgres://app:%s/x@host/app", "postgres://app:%s@host:port/app", "postgres://app:%s@host/app?sslmode=what", "postgres://app:%%zz%s@host/app",
		"app:%s@tcp(host)/app", "host=db password=%s", "ftp://app:%s@host",
	} {
		for _, args := range []string{"gen --dsn", "workers --dsn"} {
			got := command(t, append(strings.Fields(args), fmt.Sprintf(form, secret))...)
			if got.code == 0 || strings.Count(got.err, "\n") != 1 || strings.Contains(got.err, secret) {
				t.Errorf("%s %s: code %d, %s", args, form, got.code, got.err)
			}
		}
	}
}

// Real servers that refuse.
func TestRefusedByServer(t *testing.T) {
	t.Parallel()
	for target, want := range map[testdb.Target]string{testdb.MySQL: "denied", testdb.Postgres: "does not exist"} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(testdb.URL(t, target))
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword("gormflake_nobody", secret)
			got := command(t, "workers", "--dsn", u.String())
			wantOneLine(t, got, want)
			if strings.Contains(got.err, secret) {
				t.Errorf("the password is told: %s", got.err)
			}
		})
	}
}
