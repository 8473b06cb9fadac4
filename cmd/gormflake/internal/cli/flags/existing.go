package flags

import (
	"context"
	"net/url"
	"strings"

	"gorm.io/gorm"
)

// How a database that must be there is opened.
const (
	ReadOnly  = "ro"
	ReadWrite = "rw"
)

// OpenExisting is open for a database that must be there: SQLite would create a
// file that is not, and change the journal of one that is.
func (f *Database) OpenExisting(ctx context.Context, mode string) (db *gorm.DB, closeDB func() error, err error) {
	as := Database{url: withMode(f.URL(), mode)}
	return as.Open(ctx)
}

// withMode adds the mode to the URL of an SQLite file, unless that has one.
func withMode(dsn, mode string) string {
	scheme, rest, _ := strings.Cut(dsn, "://")
	path, rawQuery, _ := strings.Cut(rest, "?")
	query, err := url.ParseQuery(rawQuery)
	if !strings.EqualFold(scheme, "sqlite") || path == "" || path == ":memory:" || err != nil || query.Has("mode") {
		return dsn
	}
	query.Set("mode", mode)
	return scheme + "://" + path + "?" + query.Encode()
}
