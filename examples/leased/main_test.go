package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
)

// programVariable makes this test binary the program itself, as workVariable
// makes it one of its processes.
const programVariable = "LEASED_EXAMPLE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case isWriter():
		os.Exit(writerMain())
	case os.Getenv(programVariable) != "":
		if err := run(context.Background(), strings.Fields(os.Getenv(programVariable)), os.Stdout); err != nil {
			os.Exit(1)
		}
	default:
		m.Run()
	}
}

// brief is the shortest show in which everything happens.
const brief = "-processes 4 -window 1s -for 7s"

func TestRun(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			address := testdb.URL(t, target)
			var out bytes.Buffer
			if err := run(t.Context(), append(strings.Fields(brief), "-dsn", address), &out); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			wantStory(t, out.String())
			db := open(t, address)
			c, err := countRows(db)
			if err != nil {
				t.Fatal(err)
			}
			if c.Orders == 0 || c.Lines != 3*c.Orders {
				t.Errorf("%d orders with %d lines, want some with three each", c.Orders, c.Lines)
			}
		})
	}
}

func open(t *testing.T, address string) *gorm.DB {
	t.Helper()
	db, err := connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disconnect(db); err != nil {
			t.Error(err)
		}
	})
	return db
}

// wantStory looks for what a reader is to see, in this order.
func wantStory(t *testing.T, out string) {
	t.Helper()
	var story []string
	if canPause {
		story = append(story, `C is paused`)
	}
	story = append(story, `B is killed`, `Bx [+-]\d\.\ds`, `E, process \d+, holds worker`)
	if canPause {
		story = append(story, `C goes on`, `C: its window ended \S+ ago: was fenced, .* under`)
	}
	story = append(story, `all processes have ended`, ` \d+\.\d +-  +-  +-  +-  `,
		`missing +0\n`, `twice +0\n`, `order +0\n`, `lines +0\n`)
	rest := out
	for _, want := range story {
		at := regexp.MustCompile(want).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("the output lacks %q, or not in this order: %q:\n%s", want, story, out)
		}
		rest = rest[at[1]:]
	}
	if canPause && !strings.Contains(out, "C* ") {
		t.Errorf("the output does not mark the paused process:\n%s", out)
	}
}

// An interrupted program leaves nothing behind, not even a paused process.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"A, process", "worker 0", "C is paused", "B is killed"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			if at == "C is paused" && !canPause {
				t.Skip("this system has no SIGSTOP")
			}
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			out := &trigger{text: at, do: cancel}
			err := run(ctx, append(strings.Fields(brief), "-dsn", fileIn(dir)), out)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want what ended the context\n%s", err, out.String())
			}
			if err != nil && strings.Contains(err.Error(), "process") {
				t.Errorf("not in good order: %v", err)
			}
			for _, pid := range pids(t, out.String()) {
				wantDead(t, pid)
			}
			if err := os.RemoveAll(dir); err != nil { // a process that is left would hold the file, under Windows
				t.Error(err)
			}
		})
	}
}

// trigger calls do when text is written.
type trigger struct {
	text    string
	do      func()
	written strings.Builder
}

func (w *trigger) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.do()
	}
	return w.written.Write(p)
}

func (w *trigger) String() string { return w.written.String() }

func TestTemporaryFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // Windows
	ctx, cancel := context.WithCancel(t.Context())
	out := &trigger{text: "worker 0", do: cancel}
	if err := run(ctx, strings.Fields(brief), out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want what ended the context", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// When the program itself is killed, its processes end by themselves, also the
// one that it has paused.
func TestKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("asks Linux whether a process lives that is not a child")
	}
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), programVariable+"="+brief+" -dsn "+fileIn(t.TempDir()))
	out := &trigger{text: "C is paused", do: func() { _ = program.Process.Kill() }}
	program.Stdout = out
	if err := program.Run(); err == nil {
		t.Fatalf("was not killed:\n%s", out.String())
	}
	found := pids(t, out.String())
	if len(found) < 4 {
		t.Errorf("%d processes, want 4:\n%s", len(found), out.String())
	}
	for _, pid := range found {
		for deadline := time.Now().Add(20 * time.Second); alive(pid) && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		wantDead(t, pid)
	}
}

func pids(t *testing.T, out string) []int {
	t.Helper()
	var found []int
	for _, match := range regexp.MustCompile(`process (\d+), holds`).FindAllStringSubmatch(out, -1) {
		pid, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	if len(found) == 0 {
		t.Errorf("no process had begun:\n%s", out)
	}
	return found
}

func wantDead(t *testing.T, pid int) {
	t.Helper()
	if runtime.GOOS == "linux" && alive(pid) {
		t.Errorf("process %d lives", pid)
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

// alive reports whether there is such a process and it is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-dsn", "-processes", "-for", "-window", "postgres://", "leased_example_"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args, want string
	}{
		{"too few", "-processes 2", "[3, 20]"},
		{"too many", "-processes 21", "[3, 20]"},
		{"too short", "-for 13s", "at least 14s"},
		{"short window", "-window 1ms", "at least 500ms"},
		{"in memory", "-dsn sqlite://:memory:", "want a file"},
		{"argument", "now", `"now"`},
		{"flag", "-nosuch", "nosuch"},
		{"scheme", "-dsn oracle://host/db", "oracle"},
		{"folder", "-dsn sqlite:///no/such/folder/x.db", "connect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), strings.Fields(test.args), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
