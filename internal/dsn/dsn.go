// Package dsn converts a database URL to a GORM dialector, so that tests, examples and
// commands use one flag or environment variable for all supported databases:
//
//	sqlite://app.db                                 relative path
//	sqlite:///var/lib/app.db                        absolute path
//	sqlite://:memory:                               one private database in memory
//	mysql://user:password@host:3306/database        MySQL and MariaDB, over TCP
//	mysql://user:password@/database?socket=/run/s   the same over a Unix socket
//	postgres://user:password@host:5432/database     PostgreSQL, also as postgresql://
//
// Parameters after a question mark are passed to the driver. Characters that have a
// meaning in a URL, such as @ : / ? # %, must be percent-encoded in user names and
// passwords.
//
// SQLite is modernc.org/sqlite, which needs no C compiler. Package dsn creates a missing
// SQLite file, and gives a new or existing file a write-ahead log. With mode=ro or mode=rw
// in the URL, SQLite creates no file and does not change the log of an existing file.
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

// Forms of URLs, for errors.
const (
	sqliteForm   = "sqlite://PATH"
	mysqlForm    = "mysql://user:password@host:3306/database"
	postgresForm = "postgres://user:password@host:5432/database"
	wantForms    = "want " + sqliteForm + ", " + mysqlForm + " or " + postgresForm
)

// Open returns the dialector for url, which the caller passes to [gorm.Open]. Like the Open
// functions of GORM's drivers, Open makes no connection. [gorm.Open] connects to the server.
//
// An error of Open never contains a part of the password, even if a character of the password
// is not escaped. It may quote a parameter that Open or the driver rejects.
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

// schemeForm matches a URL scheme. Other text in front of :// may contain a password, for
// example user:password@tcp://host, so Open does not quote it.
var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// checkAuthority returns an error if it cannot safely tell where the user name and
// password end. rest is the URL after "://", and form is the wanted form of a URL, for
// the error. Without this check, the unescaped slash in user:pa/ss@host/db would end the
// host, so that pa would be read as a port, and a driver's error would contain it.
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
	// An @ or # behind the host, or an @ or a blank in front of it, shows that a character of
	// the user name or password is not escaped.
	if strings.ContainsAny(tail, "@#") || strings.ContainsAny(userinfo, "@ ") || badEscape != nil {
		return fmt.Errorf("dsn: unescaped character in user name, password or parameters: "+
			"percent-encode @ as %%40, : as %%3A, / as %%2F, ? as %%3F, # as %%23, %% as %%25: want %s", form)
	}
	if !validPorts(host) {
		return fmt.Errorf("dsn: port is not a number, or @ and the host are missing: want %s", form)
	}
	return nil
}

// validPorts reports whether each host of a comma-separated list has no port, or a port
// of digits only.
func validPorts(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if i := strings.LastIndexByte(host, ']'); i >= 0 { // the end of an IPv6 address, which contains colons
			host = host[i+1:]
		}
		_, port, _ := strings.Cut(host, ":")
		if strings.Trim(port, "0123456789") != "" { // port has other characters than digits
			return false
		}
	}
	return true
}

const (
	sqliteDriver = "sqlite"

	// Each connection sets these pragmas, unless the URL sets the same pragma.
	// busy_timeout makes a writer wait for another writer instead of failing.
	busyTimeout = "busy_timeout(5000)"
	foreignKeys = "foreign_keys(1)"
	writeAhead  = "journal_mode(wal)"
)

// openSQLite returns the dialector for a URL, of which rest is the part after sqlite://.
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
	// In the other modes, such as ro, SQLite uses an existing file, whose journal mode must not
	// change.
	if mode := query.Get("mode"); mode == "" || mode == "rwc" {
		pragmas = append(pragmas, writeAhead)
	}
	setSQLiteDefaults(query, pragmas...)
	return sqlite.New(sqlite.Config{DriverName: sqliteDriver, DSN: sqliteURI(path, query)}), nil
}

// openMemory returns the dialector for one database in memory. It limits the pool to one
// connection, because each connection to :memory: has its own database.
func openMemory(query url.Values) (gorm.Dialector, error) {
	setSQLiteDefaults(query, busyTimeout, foreignKeys)
	pool, err := sql.Open(sqliteDriver, sqliteURI(":memory:", query))
	if err != nil {
		return nil, fmt.Errorf("dsn: sqlite: %w", err)
	}
	pool.SetMaxOpenConns(1)
	return sqlite.New(sqlite.Config{DriverName: sqliteDriver, Conn: pool}), nil
}

// setSQLiteDefaults adds default pragmas and parameters to query, unless query sets them.
// With _txlock=immediate, a transaction takes the write lock when it begins. Otherwise a
// transaction that reads first would fail at its first write if another transaction has
// written in between, even with busy_timeout. _time_format=sqlite writes times in the form
// that SQLite's date functions and the cgo driver read.
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

// setsPragma reports whether one of the pragmas, such as busy_timeout(5000) or
// busy_timeout=5000, has this name.
func setsPragma(pragmas []string, name string) bool {
	for _, p := range pragmas {
		if i := strings.IndexAny(p, "(="); i >= 0 && strings.EqualFold(strings.TrimSpace(p[:i]), name) {
			return true
		}
	}
	return false
}

// sqliteURI writes path as a URI file name, because a plain file name cannot contain a
// question mark. For an absolute path it adds the empty authority, as in file:///var/app.db.
// Without it, SQLite would read the path //host/app.db as the authority host and the path
// /app.db.
func sqliteURI(path string, query url.Values) string {
	prefix := "file:"
	if strings.HasPrefix(path, "/") {
		prefix = "file://"
	}
	escaped := strings.ReplaceAll(url.PathEscape(path), "%2F", "/")
	return prefix + escaped + "?" + query.Encode()
}

// openMySQL returns the dialector for a URL, of which rest is the part after mysql://. It
// lets the driver parse only the parameters of the URL. It sets the user name, the password,
// the address and the database itself, because user names and passwords are not
// percent-encoded in the driver's form.
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
		query.Set("parseTime", "true") // otherwise GORM could not scan a time
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

// mysqlAddress returns the network and the address of the server. It removes the parameter
// socket from query, because the driver does not know this parameter.
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

// mysqlDialector returns the dialector for config. GORM passes the driver a text, so
// mysqlDialector formats config as the driver does and parses the text again. It returns
// an error if the text does not express config, for example because of a colon in a user
// name, or a password without a user.
func mysqlDialector(config *driver.Config) (gorm.Dialector, error) {
	parsed, err := driver.ParseDSN(config.FormatDSN())
	if err != nil || parsed.User != config.User || parsed.Passwd != config.Passwd ||
		parsed.Net != config.Net || parsed.Addr != config.Addr || parsed.DBName != config.DBName {
		return nil, errors.New("dsn: mysql: user, host or database has a form that the driver cannot express: " +
			"want a user name without colon, and no password without a user name")
	}
	return mysql.New(mysql.Config{DSNConfig: parsed}), nil
}

// openPostgres returns the dialector for a URL, of which rest is the part after postgres://.
// It passes the URL to pgx unchanged, because pgx reads more forms than net/url, such as
// several hosts, sockets, and a host among the parameters. It returns pgx's error only if a
// parameter causes the error. Other errors of pgx quote the host. The host may be a part of
// the password, if a character of the password is not escaped, or if the URL lacks the @ and
// the host.
func openPostgres(rest string) (gorm.Dialector, error) {
	if err := checkAuthority(rest, postgresForm); err != nil {
		return nil, err
	}
	_, err := pgx.ParseConfig("postgres://" + rest)
	if err == nil {
		return postgres.Open("postgres://" + rest), nil
	}
	// A parameter causes the error if the URL parses without parameters. pgx's error quotes
	// the URL, and the wrapped cause does not.
	address, _, _ := strings.Cut(rest, "?")
	_, badAddress := pgx.ParseConfig("postgres://" + address)
	cause := errors.Unwrap(err)
	if badAddress != nil || cause == nil {
		return nil, errors.New("dsn: postgres URL does not parse: want " + postgresForm)
	}
	return nil, fmt.Errorf("dsn: postgres parameters: %w", cause)
}
