package sqllease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A proxy in front of a database may send a write again whose answer it has lost. No ID may
// be issued twice behind such a proxy, and no lease may lose its worker.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{
		"MariaDB": testserver.MariaDB, "MySQL": testserver.MySQL, "PostgreSQL": testserver.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Repeated(t, start(t), dial)
		})
	}
}
