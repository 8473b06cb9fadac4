package testdb

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// Main runs the tests of a package and then says which servers they went
// without, and how to name them. Call it from TestMain of one package, the one
// that takes longest, so that go test ./... says it once and near its end.
//
// It names the servers that tests start for themselves too, although the tests of
// Redis, etcd and ZooKeeper are in modules that go test ./... does not enter:
// there, go test shows nothing of what is skipped.
func Main(m *testing.M) {
	run(m, skippedNote()+missingNote(testserver.Missing()))
}

func run(m *testing.M, note string) {
	flag.Parse()
	if note == "" || isSet("test.list") || isSet("test.fuzzworker") || !isSet("test.paniconexit0") {
		m.Run()
		return
	}
	// Without the file in which go test looks for what the tests have read, it
	// does not cache the result. A cached pass would say nothing of the tests
	// that were skipped.
	_ = flag.Set("test.testlogfile", "")
	code := m.Run()
	_, _ = fmt.Fprint(noteWriter(code), note)
}

// skippedNote is empty if every server has been named.
func skippedNote() string {
	var titles, settings []string
	for _, s := range services() {
		if os.Getenv(s.variable) == "" {
			titles = append(titles, s.title)
			settings = append(settings, fmt.Sprintf("%s='%s'", s.variable, s.example))
		}
	}
	if len(titles) == 0 {
		return ""
	}
	return fmt.Sprintf("note: tests on %s were skipped; to run them too:\n  %s go test ./...\n",
		strings.Join(titles, ", "), strings.Join(settings, " "))
}

// missingNote is empty if every server is started.
func missingNote(titles, commands []string) string {
	if len(titles) == 0 {
		return ""
	}
	return fmt.Sprintf("note: tests that start their own %s are skipped, here and in the modules under lease/; "+
		"to run them too:\n  %s\n",
		strings.Join(titles, ", "), strings.Join(append(commands, "make test"), "\n  "))
}

// isSet reports whether a flag of package testing is set. The flag
// test.paniconexit0 tells go test from a test binary that somebody started by
// hand, or that a test started as its child.
func isSet(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() != f.DefValue
}

// noteWriter is one place where the note is seen. go test shows what a package
// prints if its tests fail or with -v, and throws it away otherwise. There is
// no way through it then, so the note goes past it to where go test itself
// reports, or to the terminal. If there is neither, nobody is watching.
func noteWriter(code int) io.Writer {
	if code != 0 || testing.Verbose() {
		return os.Stdout
	}
	if f := duplicateStderr(os.Getppid()); f != nil {
		return f
	}
	if f := reopenStderr(os.Getppid()); f != nil {
		return f
	}
	if f, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		return f
	}
	return os.Stdout
}

// reopenStderr opens the standard error of a process under Linux, or returns
// nil. A regular file is refused: it would get a write position of its own, and
// the process would write over the note.
func reopenStderr(pid int) *os.File {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", pid), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode().IsRegular() {
		f.Close()
		return nil
	}
	return f
}
