//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// A terminal is a pseudo-terminal in which the built program runs.
type terminal struct {
	t     *testing.T
	file  *os.File
	ended chan error // receives the result of the program

	mu   sync.Mutex
	text bytes.Buffer
}

// inTerminal starts a program in a wide terminal.
func inTerminal(t *testing.T, program string, args ...string) *terminal {
	t.Helper()
	return inTerminalOf(t, 200, program, args...)
}

// inTerminalOf starts a program in a terminal with this number of columns.
func inTerminalOf(t *testing.T, columns uint16, program string, args ...string) *terminal {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = t.TempDir()
	file, err := pty.StartWithSize(command, &pty.Winsize{Rows: 40, Cols: columns})
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	term := &terminal{t: t, file: file, ended: make(chan error, 1)}
	go term.read(command)
	t.Cleanup(func() { file.Close() })
	return term
}

// read collects the output of the program until it ends.
func (term *terminal) read(command *exec.Cmd) {
	chunk := make([]byte, 4096)
	for {
		n, err := term.file.Read(chunk)
		term.mu.Lock()
		term.text.Write(chunk[:n])
		term.mu.Unlock()
		if err != nil {
			term.ended <- command.Wait()
			return
		}
	}
}

// screen returns all that the program has written.
func (term *terminal) screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text.String()
}

// waitFor waits until the terminal shows the text.
func (term *terminal) waitFor(text string) {
	term.t.Helper()
	for deadline := time.Now().Add(clitest.Patience); !strings.Contains(term.screen(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			term.t.Fatalf("the terminal does not show %q:\n%s", text, term.screen())
		}
	}
}

// typeKeys sends keys to the program.
func (term *terminal) typeKeys(keys string) {
	term.t.Helper()
	if _, err := term.file.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// wantExit waits until the program ends, and checks its exit code, and that the terminal shows
// the text.
func (term *terminal) wantExit(code int, text string) {
	term.t.Helper()
	var err error
	select {
	case err = <-term.ended:
	case <-time.After(clitest.Patience):
		term.t.Fatalf("the program does not end:\n%s", term.screen())
	}
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code || !strings.Contains(term.screen(), text) {
		term.t.Errorf("exit code %d, want %d, and %q in:\n%s", got, code, text, term.screen())
	}
}

// Colours appear only in a terminal that supports them, and only if the environment does not
// turn them off.
func colours(t *testing.T, program string) {
	const id, cyan, green = "2124095476331606058", "\x1b[36m(2026-11-21T11:00:00.000Z", "\x1b[32mok\x1b[0m       clock     "
	file := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(file, []byte(id), 0o600); err != nil {
		t.Fatal(err)
	}
	url := testdb.URL(t, testdb.SQLite)
	clitest.Touch(t, url)
	for _, test := range []struct{ environment, parse, doctor string }{
		{"TERM=xterm", cyan, green},
		{"TERM=dumb", id + "(2026", "ok       clock     "},
		{"NO_COLOR=1", id + "(2026", "ok       clock     "},
		{"NO_COLOR=", cyan, green},
	} {
		run := func(args ...string) *terminal {
			return inTerminal(t, "env", append([]string{"-u", "NO_COLOR", "TERM=xterm", test.environment, program}, args...)...)
		}
		run("parse", "--file", file).wantExit(clitest.OK, test.parse)
		run("doctor", "--dsn", url).wantExit(clitest.OK, test.doctor)
	}
}

const interrupt = "\x03" // Ctrl-C, as a terminal sends it

// TestTerminal builds the program once, and runs it in terminals, in which it colours and
// wraps its output, asks for confirmation, and can be interrupted.
func TestTerminal(t *testing.T) {
	t.Parallel()
	program := clitest.Build(t)
	t.Run("colours", func(t *testing.T) {
		t.Parallel()
		colours(t, program)
	})
	t.Run("confirmation", func(t *testing.T) {
		t.Parallel()
		confirmation(t, program)
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		interrupted(t, program)
	})
	t.Run("wrapped", func(t *testing.T) {
		t.Parallel()
		wrapped(t, program)
	})
}

// Lines wrap between words. Only commands to copy, and single words, are longer than the
// terminal is wide.
func wrapped(t *testing.T, program string) {
	url := testdb.URL(t, testdb.SQLite)
	db := clitest.Shop(t, url)
	clitest.Execute(t, db, "CREATE TABLE floats (order_id float)", "INSERT INTO orders (id) VALUES (-5)")
	for _, test := range []struct {
		columns uint16
		args    []string
		code    int
	}{
		{80, []string{"doctor", "--dsn", url}, clitest.Findings},
		{60, []string{"doctor", "--dsn", url}, clitest.Findings},
		{80, []string{"migrate", "plan", "--details", "--dsn", url, "orders"}, clitest.Findings},
		{60, []string{"parse", "--help"}, clitest.OK},
	} {
		term := inTerminalOf(t, test.columns, "env", append([]string{"NO_COLOR=1", program}, test.args...)...)
		term.wantExit(test.code, "")
		for line := range strings.SplitSeq(strings.ReplaceAll(term.screen(), "\r", ""), "\n") {
			if len([]rune(line)) > int(test.columns) && !isCommand(line) && strings.Contains(strings.TrimLeft(line, " "), " ") {
				t.Errorf("%q: more than %d characters in %q", test.args, test.columns, line)
			}
		}
	}
}

// apply asks before it changes the database, and changes it only after yes. It draws a bar
// for its progress only if it makes changes.
func confirmation(t *testing.T, program string) {
	for _, test := range []struct {
		name, keys string
		code       int
		text       string
		changes    bool
	}{
		{"yes", "y\n", clitest.OK, "applied: detach, guard", true},
		{"in full", "YES\n", clitest.OK, "applied: detach, guard", true},
		{"no", "n\n", clitest.Failed, "not confirmed: nothing has been changed", false},
		{"nothing", "\n", clitest.Failed, "not confirmed: nothing has been changed", false},
		{"end of input", "\x04", clitest.Failed, "not confirmed: nothing has been changed", false},
		{"Ctrl-C", interrupt, clitest.Interrupted, "interrupted; nothing was changed", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := testdb.URL(t, testdb.SQLite)
			clitest.Shop(t, url)
			before := clitest.Schema(t, url)
			term := inTerminal(t, program, "migrate", "apply", "--dsn", url, "orders")
			term.waitFor("Apply these 11 statements to orders? [y/N] ")
			term.typeKeys(test.keys)
			term.wantExit(test.code, test.text)
			if changed := clitest.Schema(t, url) != before; changed != test.changes {
				t.Errorf("the database has changed: %v, want %v", changed, test.changes)
			}
			if bar := strings.Contains(term.screen(), "100% |████"); bar != test.changes {
				t.Errorf("a bar is drawn: %v, want %v:\n%s", bar, test.changes, term.screen())
			}
		})
	}
}

// Ctrl-C cancels a statement that waits for a lock, and the error explains how to resume.
func interrupted(t *testing.T, program string) {
	url := testdb.URL(t, testdb.Postgres)
	db := clitest.Shop(t, url)
	before := clitest.Schema(t, url)
	tx := db.Begin()
	defer tx.Rollback()
	lock(t, tx)
	term := inTerminal(t, program, "migrate", "apply", "--dsn", url, "--yes", "--phases", "widen", "orders")
	term.waitFor("widen ")
	term.waitFor("(0/")
	term.typeKeys(interrupt)
	term.wantExit(clitest.Interrupted, "run the same command again to resume")
	term.waitFor("gormflake: interrupted; ")
	term.waitFor("nothing of this phase has been changed")
	// A leftover statement in the queue for the lock would block readers of the table.
	var waiting int
	err := db.Raw("SELECT count(*) FROM pg_locks WHERE relation = 'orders'::regclass AND NOT granted").Row().Scan(&waiting)
	if err != nil || waiting != 0 {
		t.Errorf("%d wait for the lock after the program has ended, error %v, want none", waiting, err)
	}
	tx.Rollback()
	if clitest.Schema(t, url) != before {
		t.Error("the database has been changed")
	}
}

// lock takes a lock that lets others read the table, and makes ALTER TABLE wait.
func lock(t *testing.T, tx *gorm.DB) {
	t.Helper()
	if err := tx.Exec("LOCK TABLE orders IN ACCESS SHARE MODE").Error; err != nil {
		t.Fatal(err)
	}
}

// If a statement does not get its lock within --lock-timeout, apply fails and says why.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.Postgres)
	tx := clitest.Shop(t, url).Begin()
	defer tx.Rollback()
	lock(t, tx)
	got := clitest.Command(t, "migrate", "apply", "--dsn", url, "--yes", "--save", "", "--lock-timeout", "100ms", "--retry-for", "0", "orders")
	clitest.WantOutcome(t, got, clitest.Failed, "", "another transaction holds a lock on the table")
}
