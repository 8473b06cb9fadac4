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

// pgServer is a server that its tests share; each has a database of its own.
type pgServer struct{ *migratetest.PgServer }

func startPostgres(t *testing.T, settings ...string) *pgServer {
	t.Helper()
	return pgServerOf(t, testserver.Postgres(t, append(settings, "max_connections=200", "wal_level=logical")...))
}

func pgServerOf(t *testing.T, server *testserver.Server) *pgServer {
	t.Helper()
	return &pgServer{migratetest.NewPgServer(t, server)}
}

// pgDatabase is one test's own.
type pgDatabase struct{ *migratetest.PgDatabase }

func (s *pgServer) database(t *testing.T, ddl string) *pgDatabase {
	t.Helper()
	return &pgDatabase{s.Database(t, ddl)}
}

// want expects a value of a query.
func (d *pgDatabase) want(t *testing.T, query, want string) {
	t.Helper()
	if got := d.Value(t, query); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

// dump is the schema with grants, comments and publications, and where the sequences
// are. Rows are in the order in which they lie, which is not the schema's.
func (d *pgDatabase) dump(t *testing.T) string {
	t.Helper()
	schema := d.Dumped(t, "--schema-only")
	lines := strings.SplitAfter(d.Dumped(t, "--data-only", "--inserts"), "\n")
	return schema + sortedLines(lines)
}

// online is the plan that a program makes that has just been started.
func (d *pgDatabase) online(t *testing.T, targets ...any) *sqlmigrate.OnlinePlan {
	t.Helper()
	online, err := tryOnline(context.Background(), migratetest.PgOpen(t, d.URL), targets...)
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Online(t, d.DB, online)
	return online
}

func tryOnline(ctx context.Context, db *gorm.DB, targets ...any) (*sqlmigrate.OnlinePlan, error) {
	plan, err := migratetest.Inspect(ctx, db, targets...)
	if err != nil {
		return nil, err
	}
	return plan.Online(ctx, db)
}
