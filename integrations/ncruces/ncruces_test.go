//go:build ncruces

// Package ncruces_test tests keys with github.com/ncruces/go-sqlite3/gormlite.
package ncruces_test

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3/gormlite"

	"github.com/gormflake/gormflake/integrations/internal/sqlitetest"
)

// TestNcrucesSQLite checks leases and keys with this dialector of SQLite.
func TestNcrucesSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	sqlitetest.CheckKeys(t, gormlite.Open("file:"+filepath.ToSlash(path)+"?_pragma=busy_timeout(5000)&_txlock=immediate"))
}
