// Package dsn turns a database URL into a GORM dialector, so that tests,
// examples and commands take one flag or environment variable for any of the
// supported databases:
//
//	sqlite://app.db                                 relative path
//	sqlite:///var/lib/app.db                        absolute path
//	sqlite://:memory:                               one private database in memory
//	mysql://user:password@host:3306/database        MySQL and MariaDB, over TCP
//	mysql://user:password@/database?socket=/run/s   the same over a Unix socket
//	postgres://user:password@host:5432/database     PostgreSQL, also as postgresql://
//
// Parameters after a question mark go to the driver. Characters that have a
// meaning in a URL, such as @ : / ? # %, must be percent-encoded in user names
// and passwords. SQLite is modernc.org/sqlite and needs no C compiler. Its files
// are created if they are absent and get a write-ahead log, except with mode=ro
// or mode=rw, which take a file as it is.
package dsn

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gorm.io/gorm"
)

const (
	sqliteForm   = "sqlite://PATH"
	mysqlForm    = "mysql://user:password@host:3306/database"
	postgresForm = "postgres://user:password@host:5432/database"
	wantForms    = "want " + sqliteForm + ", " + mysqlForm + " or " + postgresForm
)

// Open returns the dialector for url, ready for [gorm.Open]. Like the Open of
// GORM's drivers it connects to nothing: the server is first asked by
// [gorm.Open].
//
// No error of Open contains a part of the password, not even where one of its
// characters should have been escaped. A parameter that is refused is quoted.
func Open(url string) (gorm.Dialector, error) {
	scheme, rest, found := strings.Cut(url, "://")
	if !found || !schemeForm.MatchString(scheme) {
		return nil, errors.New("dsn: not a database URL: " + wantForms)
	}
	switch strings.ToLower(scheme) {
	case "sqlite":
		return openSQLite(rest)
	case "mysql":
		return openMySQL(rest)
	case "postgres", "postgresql":
		return openPostgres(rest)
	}
	return nil, fmt.Errorf("dsn: unknown scheme %q: %s", scheme, wantForms)
}

// schemeForm is the form of a URL scheme. Anything else in front of :// may hold a
// password, as in user:password@tcp://host.
var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
