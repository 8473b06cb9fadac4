package testdb_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// role is the variable that makes a second process of this test binary play another role.
// The test starts a process that plays go test, which starts a process that plays a
// package.
const (
	role        = "GORMFLAKE_TESTDB_ROLE"
	roleGoTest  = "go test"                  // runs the tests of a package and discards their output
	rolePackage = "package"                  // is such a package, which calls testdb.Main
	missing     = "GORMFLAKE_TESTDB_MISSING" // the missing servers, for that package
)

// The settings by which the note tells how to run skipped tests.
const (
	mariadbSetting  = "GORMFLAKE_TEST_MARIADB='mysql://root@127.0.0.1:3306/test'"
	mysqlSetting    = "GORMFLAKE_TEST_MYSQL='mysql://root@127.0.0.1:3307/test'"
	postgresSetting = "GORMFLAKE_TEST_POSTGRES='postgres://postgres@127.0.0.1:5432/test?sslmode=disable'"
)

// TestMain runs the tests or, in a second process of the binary, plays its role.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case rolePackage:
		names := strings.Fields(os.Getenv(missing))
		testdb.MainMissing(m, names, names)
	case roleGoTest:
		playGoTest()
	default:
		m.Run()
	}
}

// playGoTest writes to its own standard error before and after, as go test does with the
// result lines.
func playGoTest() {
	fmt.Fprintln(os.Stderr, "first")
	child := exec.Command(os.Args[0], os.Args[1:]...)
	child.Env = append(os.Environ(), role+"="+rolePackage)
	if err := child.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Fprintln(os.Stderr, "last")
}

// notInstalled is the note if Redis and etcd are not installed.
const notInstalled = "note: tests that start their own redis, etcd are skipped, here and in the modules under lease/; " +
	"to run them too:\n  redis\n  etcd\n  make test\n"

// TestNote checks that the note on skipped tests reaches the standard error of go test,
// although go test discards the output of a package that passes. The note must not appear
// there if no test is skipped, if tests are only listed, if go test shows the output of the
// package (-v), or if a user starts the binary by hand.
func TestNote(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mysql, postgres string // the variables, of which mysql is also that of MariaDB
		missing               string // the servers that are not installed
		args                  []string
		want                  string
	}{
		{
			"all missing", "", "", "",
			[]string{underGoTest},
			"note: tests on MariaDB, MySQL, PostgreSQL were skipped; to run them too:\n  " +
				mariadbSetting + " " + mysqlSetting + " " + postgresSetting + " go test ./...\n",
		},
		{
			"one missing", "mysql://x", "", "",
			[]string{underGoTest},
			"note: tests on PostgreSQL were skipped; to run them too:\n  " + postgresSetting + " go test ./...\n",
		},
		{
			"not installed", "mysql://x", "postgres://x", "redis etcd",
			[]string{underGoTest},
			notInstalled,
		},
		{
			"neither named nor installed", "mysql://x", "", "redis etcd",
			[]string{underGoTest},
			"note: tests on PostgreSQL were skipped; to run them too:\n  " + postgresSetting + " go test ./...\n" + notInstalled,
		},
		{"none missing", "mysql://x", "postgres://x", "", []string{underGoTest}, ""},
		{"listing", "", "", "redis", []string{underGoTest, "-test.list=."}, ""},
		{"shown with verbose", "", "", "redis", []string{underGoTest, "-test.v"}, ""},
		{"started by hand", "", "", "redis", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			goTest := binary(t, roleGoTest, test.mysql, test.postgres, test.args...)
			goTest.Env = append(goTest.Env, missing+"="+test.missing)
			stderr := new(bytes.Buffer)
			goTest.Stderr = stderr
			if err := goTest.Run(); err != nil {
				t.Fatal(err)
			}
			if got, want := stderr.String(), "first\n"+test.want+"last\n"; got != want {
				t.Errorf("go test's standard error = %q, want %q", got, want)
			}
		})
	}
}

// TestNoteInRegularFile checks the note if the standard error of go test is a regular file.
// The file must have all lines of go test, and may have the note between them. If the note
// were written with a write position of its own, the note and the lines would overwrite each
// other.
func TestNoteInRegularFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	goTest := binary(t, roleGoTest, "mysql://x", "", underGoTest)
	goTest.Stderr = file
	if err := goTest.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	note := "note: tests on PostgreSQL were skipped; to run them too:\n  " + postgresSetting + " go test ./...\n"
	if got := strings.Replace(string(text), note, "", 1); got != "first\nlast\n" {
		t.Errorf("log is damaged: %q", text)
	}
}

// TestNoteIsPrintedOnceWithVerbose checks that with -v, with which go test shows the output
// of the package, the note is not printed on go test's standard error as well.
func TestNoteIsPrintedOnceWithVerbose(t *testing.T) {
	t.Parallel()
	out, err := binary(t, rolePackage, "", "", underGoTest, "-test.v").CombinedOutput()
	if got := strings.Count(string(out), "note: tests on "); err != nil || got != 1 {
		t.Errorf("%d notes, %v, want 1 in:\n%s", got, err, out)
	}
}

// TestSkippedIsNotCached checks that go test does not cache a result with skipped tests. go
// test caches a result only if the test has written the log of the files that it has read.
// So the log must be missing if a server is not named.
func TestSkippedIsNotCached(t *testing.T) {
	t.Parallel()
	for mysql, want := range map[string]bool{"": false, "mysql://x": true} {
		path := filepath.Join(t.TempDir(), "testlog")
		out, err := binary(t, roleGoTest, mysql, "postgres://x", underGoTest, "-test.testlogfile="+path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("with GORMFLAKE_TEST_MYSQL=%q: log written = %v, want %v", mysql, err == nil, want)
		}
	}
}

// underGoTest is the flag that go test passes to every test binary.
const underGoTest = "-test.paniconexit0"

// binary returns the command that runs this test binary in a role. The variables of MariaDB
// and MySQL are mysql, and the variable of PostgreSQL is postgres.
func binary(t *testing.T, part, mysql, postgres string, args ...string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the note goes past go test on Linux only")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"-test.run=^$"}, args...)...)
	cmd.Env = append(os.Environ(), role+"="+part, "GORMFLAKE_TEST_MARIADB="+mysql,
		"GORMFLAKE_TEST_MYSQL="+mysql, "GORMFLAKE_TEST_POSTGRES="+postgres)
	return cmd
}
