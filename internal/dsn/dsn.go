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
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
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

// checkAuthority refuses a URL, given without its scheme, whose user name and
// password cannot be told apart from the rest with certainty. A password with a
// bare slash would otherwise be taken for a port and a database name, and end
// up in the text of a driver's error.
func checkAuthority(rest, form string) error {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	userinfo, host := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		userinfo, host = authority[:i], authority[i+1:]
	}
	_, badEscape := url.PathUnescape(userinfo)
	if strings.ContainsAny(tail, "@#") || strings.ContainsAny(userinfo, "@ ") || badEscape != nil {
		return fmt.Errorf("dsn: unescaped character in user name, password or parameters: "+
			"percent-encode @ as %%40, : as %%3A, / as %%2F, ? as %%3F, # as %%23, %% as %%25: want %s", form)
	}
	if !validPorts(host) {
		return fmt.Errorf("dsn: port is not a number, or @ and the host are missing: want %s", form)
	}
	return nil
}

// validPorts reports whether each host of a comma-separated list has either no
// port or one of digits.
func validPorts(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if i := strings.LastIndexByte(host, ']'); i >= 0 {
			host = host[i+1:]
		}
		_, port, _ := strings.Cut(host, ":")
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	return true
}

const (
	sqliteDriver = "sqlite"

	// Pragmas of each connection, unless the URL sets the same one. With the
	// first, writers wait for each other instead of failing.
	busyTimeout = "busy_timeout(5000)"
	foreignKeys = "foreign_keys(1)"
	writeAhead  = "journal_mode(wal)"
)

func openSQLite(rest string) (gorm.Dialector, error) {
	rawPath, rawQuery, _ := strings.Cut(rest, "?")
	path, err := url.PathUnescape(rawPath)
	if err != nil {
		return nil, fmt.Errorf("dsn: sqlite path: %w: write %% as %%25", err)
	}
	if path == "" {
		return nil, errors.New("dsn: sqlite path is empty: want sqlite://:memory: or " + sqliteForm)
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, fmt.Errorf("dsn: sqlite parameters: %w", err)
	}
	if path == ":memory:" {
		return openMemory(query)
	}
	pragmas := []string{busyTimeout, foreignKeys}
	if mode := query.Get("mode"); mode == "" || mode == "rwc" {
		pragmas = append(pragmas, writeAhead)
	}
	setSQLiteDefaults(query, pragmas...)
	return sqlite.New(sqlite.Config{DriverName: sqliteDriver, DSN: sqliteURI(path, query)}), nil
}

// openMemory keeps the pool at one connection, because each connection to
// :memory: is a database of its own.
func openMemory(query url.Values) (gorm.Dialector, error) {
	setSQLiteDefaults(query, busyTimeout, foreignKeys)
	pool, err := sql.Open(sqliteDriver, sqliteURI(":memory:", query))
	if err != nil {
		return nil, fmt.Errorf("dsn: sqlite: %w", err)
	}
	pool.SetMaxOpenConns(1)
	return sqlite.New(sqlite.Config{DriverName: sqliteDriver, Conn: pool}), nil
}

// setSQLiteDefaults completes query in the driver's own terms. Transactions
// take the write lock when they begin: one that reads first and writes later
// fails at once where another has written in between, whatever busy_timeout is.
// Times are written as SQLite's date functions and the cgo driver read them.
func setSQLiteDefaults(query url.Values, pragmas ...string) {
	for _, pragma := range pragmas {
		name, _, _ := strings.Cut(pragma, "(")
		if !setsPragma(query["_pragma"], name) {
			query.Add("_pragma", pragma)
		}
	}
	for name, value := range map[string]string{"_txlock": "immediate", "_time_format": "sqlite"} {
		if !query.Has(name) {
			query.Set(name, value)
		}
	}
}

func setsPragma(pragmas []string, name string) bool {
	for _, p := range pragmas {
		if i := strings.IndexAny(p, "(="); i >= 0 && strings.EqualFold(strings.TrimSpace(p[:i]), name) {
			return true
		}
	}
	return false
}

// sqliteURI writes path as a URI file name: the plain form cannot hold a
// question mark. An absolute path needs the empty authority, or a second
// leading slash would be read as one.
func sqliteURI(path string, query url.Values) string {
	prefix := "file:"
	if strings.HasPrefix(path, "/") {
		prefix = "file://"
	}
	escaped := strings.ReplaceAll(url.PathEscape(path), "%2F", "/")
	return prefix + escaped + "?" + query.Encode()
}

func openMySQL(rest string) (gorm.Dialector, error) {
	if err := checkAuthority(rest, mysqlForm); err != nil {
		return nil, err
	}
	u, err := url.Parse("mysql://" + rest)
	if err != nil {
		return nil, errors.New("dsn: mysql URL does not parse: want " + mysqlForm)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("dsn: mysql parameters: %w", err)
	}
	network, address, err := mysqlAddress(u, query)
	if err != nil {
		return nil, err
	}
	if !query.Has("parseTime") {
		query.Set("parseTime", "true") // or GORM could not scan a time
	}
	config, err := driver.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, fmt.Errorf("dsn: mysql parameters: %w", err)
	}
	config.Net, config.Addr = network, address
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	return mysqlDialector(config)
}

// mysqlAddress takes the parameter socket out of query: it is ours and not
// known to the driver.
func mysqlAddress(u *url.URL, query url.Values) (network, address string, err error) {
	socket := query.Get("socket")
	query.Del("socket")
	if socket == "" {
		host := cmp.Or(u.Hostname(), "127.0.0.1")
		return "tcp", net.JoinHostPort(host, cmp.Or(u.Port(), "3306")), nil
	}
	if u.Host != "" {
		return "", "", errors.New("dsn: mysql: host and socket are both given: want one of them")
	}
	return "unix", socket, nil
}

// mysqlDialector reads config back from the driver's own text form, which GORM
// passes on. That form has no escape for a colon in a user name, nor a place
// for a password without a user.
func mysqlDialector(config *driver.Config) (gorm.Dialector, error) {
	parsed, err := driver.ParseDSN(config.FormatDSN())
	if err != nil || parsed.User != config.User || parsed.Passwd != config.Passwd ||
		parsed.Net != config.Net || parsed.Addr != config.Addr || parsed.DBName != config.DBName {
		return nil, errors.New("dsn: mysql: user, host or database has a form that the driver cannot express: " +
			"want a user name without colon, and no password without a user name")
	}
	return mysql.New(mysql.Config{DSNConfig: parsed}), nil
}

// openPostgres leaves the URL as it is, for pgx reads more forms than net/url:
// several hosts, sockets, and a host among the parameters. It reports of pgx's errors
// only what is about a parameter. The others quote the host, which is a part of the
// password if that has an unescaped character or if host and @ are missing.
func openPostgres(rest string) (gorm.Dialector, error) {
	if err := checkAuthority(rest, postgresForm); err != nil {
		return nil, err
	}
	_, err := pgx.ParseConfig("postgres://" + rest)
	if err == nil {
		return postgres.Open("postgres://" + rest), nil
	}
	address, _, _ := strings.Cut(rest, "?")
	_, badAddress := pgx.ParseConfig("postgres://" + address)
	cause := errors.Unwrap(err)
	if badAddress != nil || cause == nil {
		return nil, errors.New("dsn: postgres URL does not parse: want " + postgresForm)
	}
	return nil, fmt.Errorf("dsn: postgres parameters: %w", cause)
}
