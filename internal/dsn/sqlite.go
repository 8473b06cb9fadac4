package dsn

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

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
