package onlinetest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgServer is a server that its tests share; each has a database of its own.
type pgServer struct {
	admin  *gorm.DB
	url    string
	pgDump string
	count  atomic.Int64
}

func startPostgres(t *testing.T, settings ...string) *pgServer {
	t.Helper()
	return pgServerOf(t, testserver.Postgres(t, append(settings, "max_connections=200", "wal_level=logical")...))
}

func pgServerOf(t *testing.T, server *testserver.Server) *pgServer {
	t.Helper()
	s := &pgServer{url: server.URL()}
	s.admin = pgOpen(t, s.url)
	var bin string
	if err := s.admin.Raw("SELECT setting FROM pg_config WHERE name = 'BINDIR'").Row().Scan(&bin); err != nil {
		t.Fatal(err)
	}
	s.pgDump = filepath.Join(bin, "pg_dump") // of the server's own version
	return s
}

func pgOpen(t testing.TB, url string) *gorm.DB {
	t.Helper()
	return testdb.OpenWith(t, postgres.Open(url))
}

// pgDatabase is one test's own.
type pgDatabase struct {
	*gorm.DB
	url    string
	pgDump string
}

func (s *pgServer) database(t *testing.T, ddl string) *pgDatabase {
	t.Helper()
	name := fmt.Sprintf("db%d", s.count.Add(1))
	if err := s.admin.Exec("CREATE DATABASE " + name).Error; err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = name
	d := &pgDatabase{pgOpen(t, u.String()), u.String(), s.pgDump}
	d.script(t, ddl)
	return d
}

// as is the database for another user.
func (d *pgDatabase) as(t *testing.T, role string) *gorm.DB {
	t.Helper()
	return pgOpen(t, strings.Replace(d.url, "postgres@", role+"@", 1))
}

// script runs several statements at once.
func (d *pgDatabase) script(t *testing.T, text string) {
	t.Helper()
	pool, err := d.DB.DB()
	if err == nil {
		_, err = pool.Exec(text)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func (d *pgDatabase) value(t *testing.T, query string) string {
	t.Helper()
	var value string
	if err := d.Raw("SELECT (" + query + ")::text").Row().Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// want expects a value of a query.
func (d *pgDatabase) want(t *testing.T, query, want string) {
	t.Helper()
	if got := d.value(t, query); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}

// pgToken differs from dump to dump.
var pgToken = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// dump is the schema with grants, comments and publications, and where the sequences
// are. Rows are in the order in which they lie, which is not the schema's.
func (d *pgDatabase) dump(t *testing.T) string {
	t.Helper()
	schema := d.pgDumped(t, "--schema-only")
	lines := strings.SplitAfter(d.pgDumped(t, "--data-only", "--inserts"), "\n")
	return schema + sortedLines(lines)
}

func (d *pgDatabase) pgDumped(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command(d.pgDump, append(args, "--dbname="+d.url)...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, stderr.String())
	}
	return pgToken.ReplaceAllString(string(out), "")
}

// online is the plan that a program makes that has just been started.
func (d *pgDatabase) online(t *testing.T, targets ...any) *sqlmigrate.OnlinePlan {
	t.Helper()
	online, err := tryOnline(context.Background(), pgOpen(t, d.url), targets...)
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
