// Package testdb creates an empty database for each test, on every kind of server that
// the module supports.
//
//	testdb.Each(t, func(t *testing.T, db *gorm.DB) { … })
//
// Tests on SQLite always run. Tests on MariaDB, MySQL and PostgreSQL run if an
// environment variable names a server, in the URL form of package dsn:
//
//	GORMFLAKE_TEST_MARIADB   mysql://root@127.0.0.1:3306/test
//	GORMFLAKE_TEST_MYSQL     mysql://root@127.0.0.1:3307/test
//	GORMFLAKE_TEST_POSTGRES  postgres://postgres@127.0.0.1:5432/test?sslmode=disable
//	GORMFLAKE_TEST_REQUIRE   mariadb,mysql,postgres: fail where a test would be skipped
//
// Package testserver starts a separate server for a test, and needs none of these
// variables. The user must be allowed to create databases (MariaDB, MySQL) or schemas
// (PostgreSQL). The test fails if a variable names a server of another kind, or a server
// that does not answer.
package testdb

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// Target is a database together with the driver with which GORM uses it.
type Target string

// The targets of the test suite.
const (
	SQLiteMattn Target = "sqlite-mattn" // GORM's default driver; needs cgo
	SQLite      Target = "sqlite"       // modernc.org/sqlite
	MariaDB     Target = "mariadb"      // GORMFLAKE_TEST_MARIADB
	MySQL       Target = "mysql"        // GORMFLAKE_TEST_MYSQL, not MariaDB; GORM has no RETURNING on it
	Postgres    Target = "postgres"     // GORMFLAKE_TEST_POSTGRES
)

// Targets returns all targets, available or not.
func Targets() []Target {
	return []Target{SQLiteMattn, SQLite, MariaDB, MySQL, Postgres}
}

// Each runs fn as a parallel subtest for every target, with a database from [Open].
func Each(t *testing.T, fn func(t *testing.T, db *gorm.DB), opts ...gorm.Option) {
	t.Helper()
	EachOf(t, Targets(), fn, opts...)
}

// Alike returns the targets on which code for the target also runs. For MySQL these are
// MySQL and MariaDB. For any other target it is only the target itself.
func Alike(target Target) []Target {
	if target == MySQL {
		return []Target{MariaDB, MySQL}
	}
	return []Target{target}
}

// EachMySQL runs fn as a parallel subtest for MySQL and MariaDB.
func EachMySQL(t *testing.T, fn func(t *testing.T, db *gorm.DB), opts ...gorm.Option) {
	t.Helper()
	EachOf(t, Alike(MySQL), fn, opts...)
}

// EachOf runs fn as a parallel subtest for each of the targets.
func EachOf(t *testing.T, targets []Target, fn func(t *testing.T, db *gorm.DB), opts ...gorm.Option) {
	t.Helper()
	for _, target := range targets {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			fn(t, Open(t, target, opts...))
		})
	}
}

// Open returns an empty database that no other test uses. It is closed and dropped when t
// ends. If the target is not available, Open skips t, or fails it if
// GORMFLAKE_TEST_REQUIRE names its server.
//
// opts are the options of [gorm.Open]. GORM logs nothing unless they set a logger.
func Open(t testing.TB, target Target, opts ...gorm.Option) *gorm.DB {
	t.Helper()
	return OpenWith(t, dialector(t, target), opts...)
}

// OpenWith opens the database of the dialector, and closes it when t ends. GORM logs
// nothing unless opts set a logger.
func OpenWith(t testing.TB, dialector gorm.Dialector, opts ...gorm.Option) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialector, copyOptions(opts)...)
	if err != nil {
		t.Fatalf("testdb: open %s: %v", dialector.Name(), err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatalf("testdb: open %s: %v", dialector.Name(), err)
	}
	t.Cleanup(func() { pool.Close() })
	return db
}

// OpenURL opens the database of a URL in the form of package dsn, and closes it when t
// ends.
func OpenURL(t testing.TB, url string, opts ...gorm.Option) *gorm.DB {
	t.Helper()
	dialector, err := dsn.Open(url)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	return OpenWith(t, dialector, opts...)
}

// TargetOf returns the target for which [Open] returned db.
func TargetOf(db *gorm.DB) Target {
	switch d := db.Dialector.(type) {
	case *sqlite.Dialector:
		if d.DriverName == "" {
			return SQLiteMattn
		}
		return SQLite
	case *mysql.Dialector:
		if strings.Contains(d.ServerVersion, "MariaDB") {
			return MariaDB
		}
		return MySQL
	default:
		return Postgres
	}
}

// PostgresURL returns a URL under which pgx finds the tables of db, which must be of the
// target [Postgres].
func PostgresURL(t testing.TB, db *gorm.DB) string {
	t.Helper()
	d, ok := db.Dialector.(*postgres.Dialector)
	if !ok {
		t.Fatalf("testdb: PostgresURL of a %s database: want %s", TargetOf(db), Postgres)
	}
	return d.DSN
}

// URL returns the URL of an empty database, in the form of package dsn, for a program
// that opens the database itself. The database is dropped when t ends, as with [Open].
func URL(t testing.TB, target Target) string {
	t.Helper()
	switch d := dialector(t, target).(type) {
	case *postgres.Dialector:
		return d.DSN
	case *mysql.Dialector:
		s := serviceOf(target)
		u, err := url.Parse(s.url(t))
		if err != nil {
			t.Fatalf("testdb: %s: %v", s.variable, err)
		}
		u.Path = "/" + d.DSNConfig.DBName
		return u.String()
	default:
		return "sqlite://" + filepath.Join(t.TempDir(), "test.db")
	}
}

// DSN returns the name of an empty database in the form of the database's driver.
func DSN(t testing.TB, target Target) string {
	t.Helper()
	switch d := dialector(t, target).(type) {
	case *postgres.Dialector:
		return d.DSN
	case *mysql.Dialector:
		return d.DSNConfig.FormatDSN()
	default:
		return filepath.Join(t.TempDir(), "test.db")
	}
}

// dialector returns the dialector of an empty database of the target.
func dialector(t testing.TB, target Target) gorm.Dialector {
	t.Helper()
	testserver.CheckRequired(t)
	switch target {
	case SQLiteMattn:
		return sqliteMattn(t)
	case SQLite:
		return parse(t, "sqlite://"+filepath.Join(t.TempDir(), "test.db"))
	case MariaDB, MySQL:
		return mysqlDatabase(t, serviceOf(target))
	case Postgres:
		return postgresSchema(t)
	}
	t.Fatalf("testdb: unknown target %q: want one of %q", target, Targets())
	return nil
}

// sqliteMattn returns a database of the cgo driver, with the settings that package dsn
// gives the other driver.
func sqliteMattn(t testing.TB) gorm.Dialector {
	t.Helper()
	if !cgoEnabled {
		t.Skip("testdb: sqlite-mattn needs cgo: set CGO_ENABLED=1 and have a C compiler")
	}
	path := filepath.Join(t.TempDir(), "test.db")
	return sqlite.Open("file:" + path + "?_busy_timeout=5000&_foreign_keys=1&_journal_mode=WAL&_txlock=immediate")
}

// parse returns the dialector of a URL in the form of package dsn.
func parse(t testing.TB, url string) gorm.Dialector {
	t.Helper()
	d, err := dsn.Open(url)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	return d
}

// copyOptions copies opts for a call of [gorm.Open], so that tests can share opts. gorm.Open
// sorts the slice, and uses a *gorm.Config, including its pool, as the configuration of the
// database.
func copyOptions(opts []gorm.Option) []gorm.Option {
	opts = slices.Clone(opts)
	for i, opt := range opts {
		if config, ok := opt.(*gorm.Config); ok {
			copied := *config
			copied.Plugins = maps.Clone(config.Plugins)
			copied.ClauseBuilders = maps.Clone(config.ClauseBuilders)
			opts[i] = &copied
		}
	}
	return append(opts, discardByDefault{})
}

// discardByDefault replaces GORM's default logger only. It must come after a
// *gorm.Config, because that replaces all earlier settings.
type discardByDefault struct{}

// Apply sets the logger that logs nothing, unless another logger is set.
func (discardByDefault) Apply(config *gorm.Config) error {
	if config.Logger == nil {
		config.Logger = logger.Discard
	}
	return nil
}

func (discardByDefault) AfterInitialize(*gorm.DB) error { return nil }
