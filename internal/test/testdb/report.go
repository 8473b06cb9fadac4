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

// Main runs the tests of a package and then prints which servers were missing, and how to
// name them. Call it from TestMain of one package, which should be the slowest, so that
// go test ./... prints the note once and near its end.
//
// The note also names the servers that tests start themselves. The tests of Redis, etcd
// and ZooKeeper are in modules that go test ./... does not enter, and in these modules go
// test does not show which tests are skipped.
func Main(m *testing.M) {
	run(m, skippedNote()+missingNote(testserver.Missing()))
}

// run runs the tests and then prints the note, if go test runs them. It prints nothing if
// a user lists tests or starts the binary by hand, or in a worker of a fuzz test.
func run(m *testing.M, note string) {
	flag.Parse()
	if note == "" || isSet("test.list") || isSet("test.fuzzworker") || !isSet("test.paniconexit0") {
		m.Run()
		return
	}
	// Without the file in which go test records the files that tests have read, it does
	// not cache the result. A cached pass would not print the note about skipped tests.
	_ = flag.Set("test.testlogfile", "")
	code := m.Run()
	_, _ = fmt.Fprint(noteWriter(code), note)
}

// skippedNote returns the note on servers that no variable names, or "".
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

// missingNote returns the note on servers that tests cannot start, or "".
func missingNote(titles, commands []string) string {
	if len(titles) == 0 {
		return ""
	}
	return fmt.Sprintf("note: tests that start their own %s are skipped, here and in the modules under lease/; "+
		"to run them too:\n  %s\n",
		strings.Join(titles, ", "), strings.Join(append(commands, "make test"), "\n  "))
}

// isSet reports whether a flag of package testing is set. go test sets the flag
// test.paniconexit0. The flag is not set if a user starts a test binary by hand, or if a
// test starts it as a child.
func isSet(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() != f.DefValue
}

// noteWriter returns a writer whose output the user sees. go test shows the output of a
// package only if its tests fail or with -v. In other cases noteWriter returns the
// standard error of go test itself, or the terminal. If it can open neither, it returns
// the standard output.
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

// reopenStderr opens the standard error of a process under Linux, or returns nil. It
// returns nil for a regular file, because the new file would have a separate write
// position, and the process would overwrite the note.
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
