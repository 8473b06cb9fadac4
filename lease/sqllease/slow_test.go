package sqllease_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// docs/operating.md says up to which time per statement a process can start, extend its
// window, and release its worker. The test delays each statement by these times, and the
// process must succeed. In the long form it also tries longer times, with which the process
// must fail.
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
