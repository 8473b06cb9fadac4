package cli_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/testdb"
)

// An outcome is what a command has done.
type outcome struct {
	code     int
	out, err string
}

// command runs the command line as main does.
func command(t *testing.T, args ...string) outcome {
	t.Helper()
	return commandWith(t.Context(), strings.NewReader(""), args...)
}

func commandWith(ctx context.Context, in io.Reader, args ...string) outcome {
	var out, err bytes.Buffer
	code := cli.Main(ctx, args, cli.Streams{In: in, Out: &out, Err: &err})
	return outcome{code, out.String(), err.String()}
}

// wantOutcome checks the code, and that each stream holds its text; an empty
// text stands for an empty stream.
func wantOutcome(t *testing.T, got outcome, code int, out, err string) {
	t.Helper()
	if got.code != code || !holds(got.out, out) || !holds(got.err, err) {
		t.Errorf("got code %d\nstdout: %s\nstderr: %s\nwant code %d, stdout with %q, stderr with %q", got.code, got.out, got.err, code, out, err)
	}
}

func holds(text, part string) bool {
	return strings.Contains(text, part) && (part != "" || text == "")
}

// wantOneLine is for commands that fail: one line, with the name of the program.
func wantOneLine(t *testing.T, got outcome, text string) {
	t.Helper()
	wantOutcome(t, got, failed, got.out, text)
	if strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "gormflake: ") {
		t.Errorf("standard error is not one line of gormflake:\n%s", got.err)
	}
}

// servers runs fn on each kind of database, with its URL.
func servers(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			fn(t, testdb.URL(t, target))
		})
	}
}

// open opens a database of the test beside the command's own connection.
func open(t *testing.T, url string) *gorm.DB {
	t.Helper()
	dialector, err := dsn.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return db
}

func execute(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// autoKey is a key that the database assigns, by dialect.
var autoKey = map[string]string{
	"sqlite":   "INTEGER PRIMARY KEY AUTOINCREMENT",
	"mysql":    "INT AUTO_INCREMENT PRIMARY KEY",
	"postgres": "SERIAL PRIMARY KEY",
}

// shop makes orders and their lines, with keys that the database assigns.
func shop(t *testing.T, url string) *gorm.DB {
	t.Helper()
	db := open(t, url)
	key := autoKey[db.Name()]
	execute(
		t, db,
		"CREATE TABLE orders (id "+key+", number VARCHAR(40))",
		"CREATE TABLE order_lines (id "+key+", order_id INT NOT NULL, FOREIGN KEY (order_id) REFERENCES orders (id))",
		"CREATE TABLE audit (order_id INT)",
		"INSERT INTO orders (number) VALUES ('A-1')",
		"INSERT INTO order_lines (order_id) VALUES (1)",
	)
	return db
}

// examples are the command lines that the help of a command shows, without the
// name of the program.
func examples(t *testing.T, command []string) [][]string {
	t.Helper()
	var lines [][]string
	_, rest, _ := strings.Cut(commandWith(t.Context(), nil, append(command, "--help")...).out, "\nExamples:\n")
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
