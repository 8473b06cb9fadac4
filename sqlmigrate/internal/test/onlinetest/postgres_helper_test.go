package onlinetest_test

import (
	"context"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgServer is a server that several tests share. Each test creates its own database.
type pgServer struct{ *migratetest.PgServer }

// startPostgres starts a server with the settings and enough connections for all tests.
func startPostgres(t *testing.T, settings ...string) *pgServer {
	t.Helper()
	return pgServerOf(t, testserver.Postgres(t, append(settings, "max_connections=200", "wal_level=logical")...))
}

// pgServerOf returns a pgServer for a server that the test has started itself.
func pgServerOf(t *testing.T, server *testserver.Server) *pgServer {
	t.Helper()
	return &pgServer{migratetest.NewPgServer(t, server)}
}

// pgDatabase is the database of a single test.
type pgDatabase struct{ *migratetest.PgDatabase }

// database creates a database and executes ddl in it.
func (s *pgServer) database(t *testing.T, ddl string) *pgDatabase {
	t.Helper()
	return &pgDatabase{s.Database(t, ddl)}
}

// want fails the test unless the query returns the value want.
func (d *pgDatabase) want(t *testing.T, query, want string) {
	t.Helper()
	if got := d.Value(t, query); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

// dump returns the output of pg_dump: the schema with its rights, comments and
// publications, the rows, and the positions of the sequences. It sorts the lines with the
// rows, because pg_dump writes them in their physical order.
func (d *pgDatabase) dump(t *testing.T) string {
	t.Helper()
	schema := d.Dumped(t, "--schema-only")
	lines := strings.SplitAfter(d.Dumped(t, "--data-only", "--inserts"), "\n")
	return schema + sortedLines(lines)
}

// online makes the online plan with a new pool, like a program that has just started.
func (d *pgDatabase) online(t *testing.T, targets ...any) *sqlmigrate.OnlinePlan {
	t.Helper()
	online, err := tryOnline(context.Background(), migratetest.PgOpen(t, d.URL), targets...)
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Online(t, d.DB, online)
	return online
}

// tryOnline makes the online plan for the targets, and returns an error instead of
// stopping the test.
func tryOnline(ctx context.Context, db *gorm.DB, targets ...any) (*sqlmigrate.OnlinePlan, error) {
	plan, err := migratetest.Inspect(ctx, db, targets...)
	if err != nil {
		return nil, err
	}
	return plan.Online(ctx, db)
}
