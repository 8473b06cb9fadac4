package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// contractPage is the page with the table of all commands, which TestContract compares with
// the behaviour of the commands. GORMFLAKE_TEST_GENERATE=1 rewrites the table. contractHead is
// the head of the table.
const contractPage, contractHead = "../../../../docs/cli.md", "| command | `--json` | exit codes | Ctrl-C | completes |\n|---|---|---|---|---|\n"

// A contract lists how a command must behave. In its arguments, DSN stands for the URL of a
// database with a shop and two workers. The runs share this database, so each run sees the
// changes of the previous runs.
type contract struct {
	name      string
	runs      []run
	interrupt string // arguments of a run that is interrupted, "-" for standard input; empty if the command ends at once
	completes string // the first completion of an argument
}

// A run is a call of a command with the exit code that it must have.
type run struct {
	args string
	code int
}

// missingDSN is the URL of a database that does not exist.
const missingDSN = "sqlite:///nonexistent/app.db"

// contracts returns a contract for each command except serve.
func contracts() []contract {
	online := "--dsn PG orders" // a database of PostgreSQL, because SQLite has no online moves
	return []contract{
		{"parse", []run{{"2124189853926044565 --json", 0}, {"--file /nonexistent", 1}, {"abc", 2}}, "-", ""},
		{"gen", []run{{"--worker 1 --json", 0}, {"--dsn " + missingDSN, 1}, {"--worker 99", 2}}, "--worker 1 -n 1000000", ""},
		{"min", []run{{"now", 0}, {"soon", 2}}, "", ""},
		{"max", []run{{"now", 0}, {"soon", 2}}, "", ""},
		{"workers", []run{{"--dsn DSN --json", 0}, {"--dsn " + missingDSN, 1}, {"", 2}}, "--dsn DSN", "0/7"},
		{"workers release", []run{{"--dsn DSN --yes --json 0/7", 0}, {"--dsn DSN --yes 0/9", 1}, {"", 2}}, "--dsn DSN --yes 0/7", "0/7"},
		{"workers raise", []run{{"--dsn DSN --yes --json --to now", 0}, {"--dsn " + missingDSN + " --to now", 1}, {"--dsn DSN --to soon", 2}}, "--dsn DSN --to now --yes", ""},
		{"workers reset", []run{{"--dsn DSN --dry-run 0/8", 0}, {"--dsn DSN --yes 0/9", 1}, {"", 2}}, "--dsn DSN --yes 0/8", "0/7"},
		{"workers ddl", []run{{"--dialect mysql", 0}, {"--dialect x", 2}}, "", ""},
		{"doctor", []run{{"--dsn MOVED --json", 0}, {"--dsn DSN --json", 3}, {"--dsn " + missingDSN, 1}, {"now", 2}}, "--dsn DSN", ""},
		{"migrate plan", []run{{"--dsn DSN --json orders", 3}, {"--dsn DSN none", 1}, {"--dsn DSN", 2}, {"--dsn MOVED --json orders", 0}}, "--dsn DSN orders", "orders"},
		{"migrate files", []run{{"--dsn DSN --format goose --dir DIR --json orders", 0}, {"--dsn DSN --format goose --dir DIR none", 1}, {"--dsn DSN orders", 2}}, "--dsn DSN --format goose --dir DIR orders", "orders"},
		{"migrate apply", []run{{"--dsn APPLY --yes --save DIR/plan.json --json orders", 0}, {"--dsn DSN --yes none", 1}, {"--dsn DSN", 2}}, "--dsn DSN --yes --save= orders", "orders"},
		{"migrate revert", []run{{"--dsn APPLY --yes --json DIR/plan.json", 0}, {"--dsn DSN --yes /nonexistent", 1}, {"--dsn DSN", 2}}, "--dsn DSN --yes DIR/plan.json", ""},
		{"migrate online plan", []run{{online + " --json", 3}, {"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN orders", "orders"},
		{"migrate online apply", []run{{online + " --yes --until prepare --json", 0}, {"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN --yes orders", "orders"},
		{"migrate online status", []run{{online + " --json", 0}, {"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN orders", "orders"},
		{"migrate online pause", []run{{online + " --json", 0}, {"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN orders", "orders"},
		{"migrate online throttle", []run{{online + " --json --stall 20ms", 0}, {"--dsn " + missingDSN + " orders", 1}, {"--dsn DSN --between x orders", 2}}, "--dsn DSN orders", "orders"},
		{"migrate online resume", []run{{online + " --json", 0}, {"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN orders", "orders"},
		{"migrate online finish", []run{{"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN --yes orders", "orders"},
		{"migrate online revert", []run{{online + " --yes --json", 0}, {"--dsn " + missingDSN + " orders", 1}, {"", 2}}, "--dsn DSN --yes orders", "orders"},
		{"migrate online files", []run{{online + " --format goose --stage prepare --dir DIR --json", 0}, {"--dsn " + missingDSN + " --format goose --stage prepare --dir DIR orders", 1}, {"", 2}}, "--dsn DSN --format goose --stage prepare --dir DIR orders", "orders"},
		{"vet", []run{{"--json ./vet/testdata/none", 1}, {"--tgas x", 2}}, "./...", ""},
		{"version", []run{{"--json", 0}, {"now", 2}}, "", ""},
	}
}

// noJSON are the commands without --json, because they print a single value or text for
// another program.
var noJSON = []string{"min", "max", "workers ddl"}

// codesElsewhere are exit codes that the tests of other packages check. The contracts have no
// runs with them, but the table shows them.
var codesElsewhere = map[string][]int{
	"vet":                   {0, 3}, // TestVet
	"migrate apply":         {3},    // TestApplyLeavesUndone of package migrate
	"migrate online plan":   {0},    // package migrate
	"migrate online finish": {0},
}

// placeholders returns a replacer that puts URLs of databases and names of files in place
// of the placeholders, such as DSN, in the arguments of a contract.
func placeholders(t *testing.T) *strings.Replacer {
	t.Helper()
	at := clitest.Noon.UnixMilli()
	shop := func() string {
		url := testdb.URL(t, testdb.SQLite)
		clitest.Shop(t, url)
		return url
	}
	app, moved, apply := shop(), shop(), shop() // for DSN, MOVED and APPLY
	// The contract of doctor needs a problem, which is the negative key here. Worker 8 can be
	// reset, because its bound is more than a day ahead of the clock.
	clitest.Execute(t, clitest.Open(t, app), "INSERT INTO orders (id) VALUES (-5)")
	clitest.Records(t, app, map[int]lease.Record{
		7: {Bound: at + 42_000, Owner: "web-1/11/AAAA/5/0/60000"}, 8: {Bound: time.Now().Add(50 * time.Hour).UnixMilli(), Owner: "web-2/12/BBBB/6/0/60000"},
	})
	if got := clitest.Command(t, "migrate", "apply", "--dsn", moved, "--yes", "--save=", "orders"); got.Code != clitest.OK {
		t.Fatalf("migrate apply: %+v", got)
	}
	pg := testdb.URL(t, testdb.Postgres)
	clitest.Shop(t, pg)
	return strings.NewReplacer("DSN", app, "MOVED", moved, "APPLY", apply, "PG", pg, "DIR", t.TempDir())
}

// TestContract checks --json, exit codes, Ctrl-C and completion of each command that has a
// contract, and that the table of the page is up to date. It fails for a command without a
// contract, except serve, help and completion.
func TestContract(t *testing.T) {
	t.Parallel()
	replacer := placeholders(t)
	var table strings.Builder
	table.WriteString(contractHead)
	var named []string
	for _, c := range contracts() {
		named = append(named, c.name)
		table.WriteString(c.row(t, replacer))
	}
	for _, name := range commands(t) {
		cmd := findCommand(t, name)
		if !cmd.HasSubCommands() && !strings.HasPrefix(name, "completion") && !slices.Contains([]string{"help", "serve"}, name) && !slices.Contains(named, name) {
			t.Errorf("%s has no contract", name)
		}
	}
	table.WriteString("| `serve` | `--log-format json` | 0, 1, 2 | 0, once the requests under way are answered | |\n")
	comparePage(t, table.String())
}

// comparePage fails the test if the table in docs/cli.md differs from the given table. With
// GORMFLAKE_TEST_GENERATE it writes the given table into the page instead.
func comparePage(t *testing.T, table string) {
	t.Helper()
	page, err := os.ReadFile(contractPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), contractHead)
	old, after, _ := strings.Cut(rest, "\n\n")
	switch {
	case os.Getenv("GORMFLAKE_TEST_GENERATE") != "":
		if err := os.WriteFile(contractPage, []byte(before+strings.TrimSuffix(table, "\n")+"\n\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case contractHead+old+"\n" != table:
		t.Errorf("%s has another table than the following, which GORMFLAKE_TEST_GENERATE=1 writes\n%s", contractPage, table)
	}
}

// oddName matches the name of a JSON member that is not in lower case with underscores.
var oddName = regexp.MustCompile(`"[a-z_0-9]*[^a-z_0-9"\\]+[^"\\]*":`)

// row checks a contract, and returns the row of the command in the table of docs/cli.md. If a
// run has --json and must not fail, row also checks that the output is JSON, and that its
// names are in lower case with underscores.
func (c contract) row(t *testing.T, replacer *strings.Replacer) string {
	t.Helper()
	codes := slices.Clone(codesElsewhere[c.name])
	asJSON := ""
	for _, r := range c.runs {
		got := c.run(t.Context(), replacer, r.args)
		if got.Code != r.code {
			t.Errorf("%s %s: exit code %d, want %d\n%s%s", c.name, r.args, got.Code, r.code, got.Out, got.Err)
		}
		codes = append(codes, r.code)
		if strings.Contains(r.args, "--json") && r.code != clitest.Failed {
			asJSON = "yes"
			if name := oddName.FindString(got.Out); name != "" {
				t.Errorf("%s %s: the JSON has the name %s, want lower case and _", c.name, r.args, name)
			}
			if !json.Valid([]byte(got.Out)) {
				t.Errorf("%s %s prints no JSON:\n%s", c.name, r.args, got.Out)
			}
		}
	}
	if has := findCommand(t, c.name).Flags().Lookup("json") != nil; has == slices.Contains(noJSON, c.name) {
		t.Errorf("%s has --json: %v", c.name, has)
	} else if has && asJSON == "" {
		asJSON = "yes"
	}
	interrupted := "ends at once"
	if c.interrupt != "" {
		interrupted = c.checkInterrupt(t, replacer)
		codes = append(codes, clitest.Interrupted)
	}
	slices.Sort(codes)
	cells := fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", c.name, asJSON, joinCodes(slices.Compact(codes)), interrupted, c.checkCompletion(t, replacer))
	return strings.ReplaceAll(cells, "|  |", "| |")
}

// joinCodes returns the exit codes with commas between them.
func joinCodes(codes []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(codes), "[]"), " ", ", ")
}

// commandLine returns the command with its arguments, in which replacer replaces
// placeholders.
func (c contract) commandLine(replacer *strings.Replacer, args string) []string {
	return append(strings.Fields(c.name), strings.Fields(replacer.Replace(args))...)
}

// run runs the command with these arguments and an empty standard input.
func (c contract) run(ctx context.Context, replacer *strings.Replacer, args string) clitest.Outcome {
	return clitest.CommandWith(ctx, strings.NewReader(""), c.commandLine(replacer, args)...)
}

// checkInterrupt runs the command with a context that is already canceled, as after Ctrl-C. It
// returns the entry of the table in docs/cli.md.
func (c contract) checkInterrupt(t *testing.T, replacer *strings.Replacer) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, writer := io.Pipe() // reading from in blocks
	defer writer.Close()
	got := clitest.CommandWith(ctx, in, c.commandLine(replacer, c.interrupt)...)
	if got.Code != clitest.Interrupted || !strings.HasPrefix(got.Err, "gormflake: interrupted; ") || strings.Count(got.Err, "\n") != 1 {
		t.Errorf("%s, interrupted: %+v, want exit code 130 and one line", c.name, got)
	}
	return "says what was changed"
}

// checkCompletion checks the completion of an argument. It returns the entry of the table in
// docs/cli.md, which is tables or workers, or "" if the command completes no argument.
func (c contract) checkCompletion(t *testing.T, replacer *strings.Replacer) string {
	t.Helper()
	if c.completes == "" {
		return ""
	}
	args := append([]string{"__complete"}, c.commandLine(replacer, "--dsn DSN")...)
	got := clitest.Command(t, append(args, "")...)
	if !strings.Contains(got.Out, c.completes) {
		t.Errorf("%s completes an argument by %q, want %q", c.name, got.Out, c.completes)
	}
	if c.completes == "orders" {
		return "tables"
	}
	return "workers"
}

// findCommand returns the command with this name.
func findCommand(t *testing.T, name string) *cobra.Command {
	t.Helper()
	root := cli.Command(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	cmd, _, err := root.Find(strings.Fields(name))
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A mistyped command or flag is a usage error that suggests the correct name, at every level.
// The test leaves out names that mistyped cannot change, flags that are too short for a
// suggestion, and the flags of help.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for _, name := range commands(t) {
		cmd := findCommand(t, name)
		path := strings.Fields(name)
		help := fmt.Sprintf("see %q", cmd.CommandPath()+" --help")
		for _, child := range cmd.Commands() {
			typed := mistyped(child.Name())
			if typed == child.Name() {
				continue
			}
			got := clitest.Command(t, append(path, typed)...)
			clitest.WantUsage(t, got, child.Name())
			clitest.WantUsage(t, got, "(did you mean ")
			clitest.WantUsage(t, got, help)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			typed := mistyped(f.Name)
			if name == "help" || len(f.Name) < 3 || typed == f.Name {
				return
			}
			got := clitest.Command(t, append(path, "--"+typed)...)
			clitest.WantUsage(t, got, "--"+f.Name)
			clitest.WantUsage(t, got, help)
		})
	}
}

// mistyped returns the name with its last two letters swapped.
func mistyped(name string) string {
	n := len(name)
	return name[:n-2] + name[n-1:] + name[n-2:n-1]
}

// The help of each flag names its environment variable. Flags that share a variable have the
// same type.
func TestVariables(t *testing.T) {
	t.Parallel()
	types := map[string]string{}
	for _, name := range commands(t) {
		findCommand(t, name).Flags().VisitAll(func(f *pflag.Flag) {
			variable := flags.Variable(f)
			if variable == "" {
				return
			}
			if want := "[$" + variable + "]"; !strings.HasSuffix(f.Usage, want) {
				t.Errorf("%s --%s: the help %q does not name %s", name, f.Name, f.Usage, want)
			}
			if was, known := types[variable]; known && was != f.Value.Type() {
				t.Errorf("%s --%s: $%s is of a flag of type %s too, and this is %s", name, f.Name, variable, was, f.Value.Type())
			}
			types[variable] = f.Value.Type()
		})
	}
}

// An environment variable sets its flag. The command ignores the variable if the command line
// has this flag, or another flag that must not be given together with this flag.
func TestVariablesSetFlags(t *testing.T) {
	folder := t.TempDir()
	// app has a record of worker 7, and other has one of worker 9.
	app, other := "sqlite://"+filepath.Join(folder, "app.db"), "sqlite://"+filepath.Join(folder, "other.db")
	clitest.Records(t, app, map[int]lease.Record{7: {Bound: 1, Owner: "dead"}})
	clitest.Records(t, other, map[int]lease.Record{9: {Bound: 1, Owner: "dead"}})
	file := filepath.Join(folder, "dsn")
	if err := os.WriteFile(file, []byte(app+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		variables map[string]string
		args      string
		code      int
		out, err  string
	}{
		{"variable", map[string]string{"GORMFLAKE_DSN": app}, "workers", 0, "dead", ""},
		{"flag before variable", map[string]string{"GORMFLAKE_DSN": app}, "workers --dsn " + other, 0, "0           9", ""},
		{"file", nil, "workers --dsn-file " + file, 0, "0           7", ""},
		{"file by its variable", map[string]string{"GORMFLAKE_DSN_FILE": file}, "workers", 0, "0           7", ""},
		{"flag before the variable of a flag that it excludes", map[string]string{"GORMFLAKE_DSN": other}, "workers --dsn-file " + file, 0, "0           7", ""},
		{"two variables that exclude each other", map[string]string{"GORMFLAKE_DSN": other, "GORMFLAKE_DSN_FILE": file}, "workers", 2, "", "exclude each other"},
		{"both flags", nil, "workers --dsn x --dsn-file " + file, 2, "", "exclude each other"},
		{"no file", nil, "workers --dsn-file " + file + "x", 2, "", "no such file"},
		{"truth", map[string]string{"GORMFLAKE_DSN": app, "GORMFLAKE_JSON": "true"}, "workers", 0, `"workers"`, ""},
		{"no truth", map[string]string{"GORMFLAKE_JSON": "yes"}, "version", 2, "", `$GORMFLAKE_JSON: invalid argument "yes" for "--json" flag: want true or false`},
		{"number", map[string]string{"GORMFLAKE_COUNT": "3"}, "gen --worker 1", 0, "\n", ""},
		{"lines", map[string]string{"GORMFLAKE_SKIP": "a\nb", "GORMFLAKE_DSN": app}, "doctor", 0, "all is well", ""},
		{"what would do nothing", map[string]string{"GORMFLAKE_TABLE": "ids"}, "gen --worker 1", 0, "\n", ""},
		{"another command's", map[string]string{"GORMFLAKE_TABLE": "ids"}, "parse 2124189853926044565", 0, "worker      3", ""},
		{"no database is asked", map[string]string{"GORMFLAKE_DSN": missingDSN}, "gen --time now --worker 1", 0, "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.variables {
				t.Setenv(name, value)
			}
			clitest.WantOutcome(t, clitest.Command(t, strings.Fields(test.args)...), test.code, test.out, test.err)
		})
	}
}
