package testdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestMissingServers checks the messages if a server is not named, not reachable or of
// another kind, and that they do not show the password of the URL. A test is skipped only
// if its server is neither named nor required.
func TestMissingServers(t *testing.T) {
	const (
		noMySQL    = "testdb: no MySQL server: set GORMFLAKE_TEST_MYSQL, e.g. to mysql://root@127.0.0.1:3307/test"
		noMariaDB  = "testdb: no MariaDB server: set GORMFLAKE_TEST_MARIADB, e.g. to mysql://root@127.0.0.1:3306/test"
		noPostgres = "testdb: no PostgreSQL server: set GORMFLAKE_TEST_POSTGRES, " +
			"e.g. to postgres://postgres@127.0.0.1:5432/test?sslmode=disable"
		unreachable = "is set, but the server cannot be used"
		closedPort  = "127.0.0.1:1"
	)
	tests := []struct {
		name                     string
		mysql, postgres, require string
		target                   testdb.Target
		wantSkip, wantFatal      string
	}{
		{"mysql unset", "", "", "", testdb.MySQL, noMySQL, ""},
		{"mariadb unset", "", "", "", testdb.MariaDB, noMariaDB, ""},
		{"postgres unset", "", "", "", testdb.Postgres, noPostgres, ""},
		{"mysql required", "", "", "mysql", testdb.MySQL, "", noMySQL + " (GORMFLAKE_TEST_REQUIRE names mysql)"},
		{"postgres required", "", "", "mysql, postgres", testdb.Postgres, "", noPostgres + " (GORMFLAKE_TEST_REQUIRE names postgres)"},
		{"other required", "", "", "mysql", testdb.Postgres, noPostgres, ""},
		{"mysql unreachable", "mysql://app:hunter2@" + closedPort + "/test", "", "", testdb.MySQL, "", unreachable},
		{"postgres unreachable", "", "postgres://app:hunter2@" + closedPort + "/test", "", testdb.Postgres, "", unreachable},
		{"wrong server", "sqlite://x.db", "", "", testdb.MySQL, "", "GORMFLAKE_TEST_MYSQL: want a URL like mysql://"},
		{"bad URL", "", "127.0.0.1", "", testdb.Postgres, "", "dsn: not a database URL"},
		{"misspelled", "", "", "mysql,postgress", testdb.SQLite, "", `unknown name "postgress": want a comma-separated list of mariadb, mysql, postgres, redis`},
		{"empty name", "", "", "mysql,", testdb.SQLite, "", `unknown name ""`},
		{"unknown target", "", "", "", "oracle", "", `unknown target "oracle": want one of`},
		{"sqlite needs nothing", "", "", "", testdb.SQLite, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GORMFLAKE_TEST_MARIADB", "")
			t.Setenv("GORMFLAKE_TEST_MYSQL", test.mysql)
			t.Setenv("GORMFLAKE_TEST_POSTGRES", test.postgres)
			t.Setenv("GORMFLAKE_TEST_REQUIRE", test.require)
			skip, fatal := outcome(t, test.target)
			matches(t, "skip", skip, test.wantSkip)
			matches(t, "failure", fatal, test.wantFatal)
			if strings.Contains(skip+fatal, "hunter2") {
				t.Errorf("the password is shown: %s%s", skip, fatal)
			}
		})
	}
}

// TestWrongServer checks the error for a variable that names the wrong server. MariaDB
// and MySQL speak the same protocol, so the test would otherwise run on either.
func TestWrongServer(t *testing.T) {
	urls := map[testdb.Target]string{testdb.MariaDB: testdb.URL(t, testdb.MariaDB), testdb.MySQL: testdb.URL(t, testdb.MySQL)}
	tests := []struct {
		target    testdb.Target
		variable  string
		url, want string
	}{
		{testdb.MariaDB, "GORMFLAKE_TEST_MARIADB", urls[testdb.MySQL], "it is MySQL (version "},
		{testdb.MySQL, "GORMFLAKE_TEST_MYSQL", urls[testdb.MariaDB], "it is MariaDB (version "},
	}
	for _, test := range tests {
		t.Run(string(test.target), func(t *testing.T) {
			t.Setenv(test.variable, test.url)
			skip, fatal := outcome(t, test.target)
			matches(t, "skip", skip, "")
			matches(t, "failure", fatal, test.variable+" is set, but the server cannot be used: "+test.want)
		})
	}
}

// matches checks that a message contains the wanted text, or that there is none if want
// is "".
func matches(t *testing.T, what, got, want string) {
	t.Helper()
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

// outcome opens target for a test that records how it ended.
func outcome(t *testing.T, target testdb.Target) (skip, fatal string) {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) { // a panic that is not the end of the test r
			panic(p)
		}
		skip, fatal = r.skip, r.fatal
	}()
	testdb.Open(r, target)
	return r.skip, r.fatal
}

// recorder is a test that ends with a panic, whose value is the recorder.
type recorder struct {
	testing.TB
	skip, fatal string
}

func (r *recorder) Skip(args ...any) {
	r.skip = fmt.Sprint(args...)
	panic(r)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	panic(r)
}
