package cli

import (
	"context"
	"net/url"
	"strings"

	"gorm.io/gorm"
)

// How a database that must be there is opened.
const (
	readOnly  = "ro"
	readWrite = "rw"
)

// openExisting is open for a database that must be there: SQLite would create a
// file that is not, and change the journal of one that is.
func (f *databaseFlag) openExisting(ctx context.Context, mode string) (db *gorm.DB, closeDB func() error, err error) {
	as := databaseFlag{url: withMode(f.value(), mode)}
	return as.open(ctx)
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
