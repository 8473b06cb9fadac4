package docstest

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// versionsPage is the page with a table of the versions on which the suites ran.
const versionsPage = "docs/engines.md"

// databases are the databases on which the suites run, by their names on the page.
var databases = map[testdb.Target]struct{ title, query string }{
	testdb.SQLiteMattn: {"SQLite of github.com/mattn/go-sqlite3", "SELECT sqlite_version()"},
	testdb.SQLite:      {"SQLite of modernc.org/sqlite", "SELECT sqlite_version()"},
	testdb.MariaDB:     {"MariaDB", "SELECT version()"},
	testdb.MySQL:       {"MySQL", "SELECT version()"},
	testdb.Postgres:    {"PostgreSQL", "SHOW server_version"},
}

// TestVersionsThatWereRun checks that the page names each kind of server of this run.
// With GORMFLAKE_TEST_GENERATE it writes the versions. A newer version is not a failure.
func TestVersionsThatWereRun(t *testing.T) {
	t.Parallel()
	versions := testserver.Versions(t)
	maps.Copy(versions, versionsOfDatabases(t))
	text, err := os.ReadFile(versionsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for title, version := range versions {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(title) + ` \| \S+ \|$`)
		if !row.MatchString(page) {
			t.Errorf("%s has no row | %s | %s |: add it", versionsPage, title, version)
		}
		page = row.ReplaceAllLiteralString(page, "| "+title+" | "+version+" |")
	}
	if os.Getenv("GORMFLAKE_TEST_GENERATE") == "" || t.Failed() {
		return
	}
	if err := os.WriteFile(versionsPage, []byte(page), 0o644); err != nil { //nolint:gosec // as git has it
		t.Fatal(err)
	}
}

// versionsOfDatabases returns the versions of the databases by their names on the page. If
// a database is not available, testdb.Open skips its subtest, and the result lacks it. If
// GORMFLAKE_TEST_REQUIRE names its server, Open fails the subtest instead.
func versionsOfDatabases(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for target, d := range databases {
		t.Run(string(target), func(t *testing.T) {
			var version string
			if err := testdb.Open(t, target).Raw(d.query).Scan(&version).Error; err != nil {
				t.Fatal(err)
			}
			// Some versions end with the name of the product or of the system.
			versions[d.title], _, _ = strings.Cut(strings.Fields(version)[0], "-")
		})
	}
	return versions
}
