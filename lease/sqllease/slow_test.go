package sqllease_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A database that takes long for each statement stops a process only above the times that
// docs/operating.md has, although a start, an extension and a release each send several
// statements.
func TestSlowStatements(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]testdb.Target{
		"SQLite": testdb.SQLite, "PostgreSQL": testdb.Postgres, "MariaDB": testdb.MariaDB, "MySQL": testdb.MySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Slow(t, name, func(t *testing.T) storetest.SlowStore {
				var delay atomic.Int64
				db := proxied(t, testdb.Open(t, target), &proxy{rewrite: func(statement string) string {
					time.Sleep(time.Duration(delay.Load()))
					return statement
				}})
				return storetest.SlowStore{Store: newStore(db), Delay: func(d time.Duration) { delay.Store(int64(d)) }}
			})
		})
	}
}
