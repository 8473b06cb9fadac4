package postgres_test

import (
	"path/filepath"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

func startPostgres(t *testing.T) *migratetest.PgServer {
	t.Helper()
	s := &migratetest.PgServer{URL: testserver.Postgres(t, "max_connections=300", "wal_level=logical").URL()}
	s.Admin = migratetest.PgOpen(t, s.URL)
	migratetest.Run(t, migratetest.PgOpen(t, s.URL+"&options=-c%20allow_in_place_tablespaces%3Don"), "CREATE TABLESPACE space LOCATION ''")
	s.PgDump = pgDumpOf(t, s.Admin)
	return s
}

// pgDumpOf is the program of the server's own version.
func pgDumpOf(t *testing.T, admin *gorm.DB) string {
	t.Helper()
	var bin string
	if err := admin.Raw("SELECT setting FROM pg_config WHERE name = 'BINDIR'").Row().Scan(&bin); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, "pg_dump")
}
