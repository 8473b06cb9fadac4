// Package glebarez_test tests keys with github.com/glebarez/sqlite.
package glebarez_test

import (
	"path/filepath"
	"testing"

	"github.com/glebarez/sqlite"

	"github.com/gormflake/gormflake/integrations/internal/sqlitetest"
)

// TestGlebarezSQLite checks leases and keys with this dialector of SQLite.
func TestGlebarezSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	sqlitetest.CheckKeys(t, sqlite.Open(path+"?_pragma=busy_timeout(5000)&_txlock=immediate"))
}
