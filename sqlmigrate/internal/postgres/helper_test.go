package postgres_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// startPostgres starts a server with a tablespace space, which the tests of indexes use.
// It allows 300 connections because many tests run at the same time, and logical
// replication because publications need it.
func startPostgres(t *testing.T) *migratetest.PgServer {
	t.Helper()
	s := migratetest.NewPgServer(t, testserver.Postgres(t, "max_connections=300", "wal_level=logical"))
	migratetest.Run(t, migratetest.PgOpen(t, s.URL+"&options=-c%20allow_in_place_tablespaces%3Don"), "CREATE TABLESPACE space LOCATION ''")
	return s
}
