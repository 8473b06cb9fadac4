// Package clitest runs the command line in tests, and creates the databases and records
// for it.
package clitest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// An Outcome is the result of a command.
type Outcome struct {
	Code     int
	Out, Err string
}

// Command runs the command line like main, with an empty standard input.
func Command(t *testing.T, args ...string) Outcome {
	t.Helper()
	return CommandWith(t.Context(), strings.NewReader(""), args...)
}

// CommandWith runs the command line with a context, whose end interrupts the command, and
// with a standard input.
func CommandWith(ctx context.Context, in io.Reader, args ...string) Outcome {
	var out, err bytes.Buffer
	code := cli.Main(ctx, args, cli.Streams{In: in, Out: &out, Err: &err})
	return Outcome{code, out.String(), err.String()}
}

// WantOutcome checks the exit code, and that each stream contains its text. An empty text
// means that the stream must be empty. A test that accepts any output passes got.Out.
func WantOutcome(t *testing.T, got Outcome, code int, out, err string) {
	t.Helper()
	if got.Code != code || !holds(got.Out, out) || !holds(got.Err, err) {
		t.Errorf("got code %d\nstdout: %s\nstderr: %s\nwant code %d, stdout with %q, stderr with %q", got.Code, got.Out, got.Err, code, out, err)
	}
}

// holds reports whether the text contains part or, if part is empty, whether it is empty.
func holds(text, part string) bool {
	return strings.Contains(text, part) && (part != "" || text == "")
}

// WantOneLine checks that the command failed, and printed a single line that begins with
// the name of the program and contains text.
func WantOneLine(t *testing.T, got Outcome, text string) {
	t.Helper()
	WantOutcome(t, got, Failed, got.Out, text)
	if strings.Count(got.Err, "\n") != 1 || !strings.HasPrefix(got.Err, "gormflake: ") {
		t.Errorf("standard error is not one line of gormflake:\n%s", got.Err)
	}
}

// WantInterrupted checks that Ctrl-C ended the command, and that its single line says
// which changes it had made.
func WantInterrupted(t *testing.T, got Outcome, changed string) {
	t.Helper()
	WantOutcome(t, got, Interrupted, got.Out, changed)
	if strings.Count(got.Err, "\n") != 1 || !strings.HasPrefix(got.Err, "gormflake: interrupted; ") {
		t.Errorf("standard error is not one line of an interrupted gormflake:\n%s", got.Err)
	}
}

// Servers runs fn with the URL of a new database of each kind, in parallel subtests.
func Servers(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			fn(t, testdb.URL(t, target))
		})
	}
}

// Open opens the database of the test on a connection of its own.
func Open(t *testing.T, url string) *gorm.DB {
	t.Helper()
	return testdb.OpenURL(t, url)
}

// Execute runs statements that must succeed.
func Execute(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// autoKey is the definition of a key that the database assigns, by dialect.
var autoKey = map[string]string{
	"sqlite":   "INTEGER PRIMARY KEY AUTOINCREMENT",
	"mysql":    "INT AUTO_INCREMENT PRIMARY KEY",
	"postgres": "SERIAL PRIMARY KEY",
}

// Shop creates the tables of a shop with keys that the database assigns. audit refers to
// orders without a foreign key, so that a move does not find its column.
func Shop(t *testing.T, url string) *gorm.DB {
	t.Helper()
	db := Open(t, url)
	key := autoKey[db.Name()]
	Execute(
		t, db,
		"CREATE TABLE orders (id "+key+", number VARCHAR(40))",
		"CREATE TABLE order_lines (id "+key+", order_id INT NOT NULL, FOREIGN KEY (order_id) REFERENCES orders (id))",
		"CREATE TABLE audit (order_id INT)",
		"INSERT INTO orders (number) VALUES ('A-1')",
		"INSERT INTO order_lines (order_id) VALUES (1)",
	)
	return db
}

// Examples returns the command lines in the help of a command, without the name of the
// program.
func Examples(t *testing.T, command []string) [][]string {
	t.Helper()
	var lines [][]string
	_, rest, _ := strings.Cut(CommandWith(t.Context(), nil, append(command, "--help")...).Out, "\nExamples:\n")
	for line := range strings.SplitSeq(rest, "\n") {
		if line == "" {
			break
		}
		lines = append(lines, strings.Fields(line)[1:])
	}
	if len(lines) == 0 {
		t.Fatalf("%s has no example", strings.Join(command, " "))
	}
	return lines
}
