package sqlmigrate_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/migratetest"
)

// pgServer is a server that its tests share; each has a database of its own.
type pgServer struct {
	admin  *gorm.DB
	url    string
	pgDump string
	count  atomic.Int64
}

func startPostgres(t *testing.T) *pgServer {
	t.Helper()
	s := &pgServer{url: testserver.Postgres(t, "max_connections=300", "wal_level=logical").URL()}
	s.admin = pgOpen(t, s.url)
	run(t, pgOpen(t, s.url+"&options=-c%20allow_in_place_tablespaces%3Don"), "CREATE TABLESPACE space LOCATION ''")
	s.pgDump = pgDumpOf(t, s.admin)
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
	run(t, s.admin, "CREATE DATABASE "+name)
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

// script runs several statements at once, as golang-migrate does.
func (d *pgDatabase) script(t *testing.T, text string) {
	t.Helper()
	if err := d.tryScript(text); err != nil {
		t.Fatal(err)
	}
}

func (d *pgDatabase) tryScript(text string) error {
	pool, err := d.DB.DB()
	if err != nil {
		return err
	}
	_, err = pool.Exec(text)
	return err
}

func (d *pgDatabase) value(t *testing.T, query string) string {
	t.Helper()
	var value string
	if err := d.Raw("SELECT (" + query + ")::text").Row().Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// pgToken differs from dump to dump.
var pgToken = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// dump is the schema with grants, comments and publications, the rows, and
// where the sequences are.
func (d *pgDatabase) dump(t *testing.T) string {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command(d.pgDump, "--dbname="+d.url)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, stderr.String())
	}
	return pgToken.ReplaceAllString(string(out), "")
}

// inspect has a pool of its own, as a program that has just been started.
func (d *pgDatabase) inspect(t *testing.T, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := migratetest.Inspect(context.Background(), pgOpen(t, d.url), targets...)
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Plan(t, d.DB, plan)
	return plan
}

func (d *pgDatabase) apply(t *testing.T, plan *sqlmigrate.Plan, opts ...sqlmigrate.ApplyOption) {
	t.Helper()
	if err := plan.Apply(context.Background(), d.DB, opts...); err != nil {
		t.Fatal(err)
	}
}

func (d *pgDatabase) revert(t *testing.T, plan *sqlmigrate.Plan, opts ...sqlmigrate.ApplyOption) {
	t.Helper()
	if err := plan.Revert(context.Background(), d.DB, opts...); err != nil {
		t.Fatal(err)
	}
}

func pgSame(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, testdb.Diff(want, got))
	}
}

// roundTrip applies a plan and takes it back, and leaves what it found.
func (d *pgDatabase) roundTrip(t *testing.T, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan := d.inspect(t, targets...)
	before, kept := d.state(t), d.kept(t)
	d.apply(t, plan)
	pgSame(t, "after up", d.kept(t), kept)
	if again := d.inspect(t, targets...); !again.Empty() || again.Err() != nil {
		t.Errorf("after up, the plan is not empty:\n%s", again)
	}
	d.revert(t, plan)
	pgSame(t, "after down of all phases", d.state(t), before)
	return plan
}

// phaseByPhase does that, and compares what is there on both ways.
func (d *pgDatabase) phaseByPhase(t *testing.T, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan := d.inspect(t, targets...)
	states := []string{d.state(t)}
	for _, phase := range plan.Phases {
		d.apply(t, plan, sqlmigrate.WithPhases(phase.Name))
		states = append(states, d.state(t))
	}
	for i, phase := range slices.Backward(plan.Phases) {
		d.revert(t, plan, sqlmigrate.WithPhases(phase.Name))
		pgSame(t, "after down of "+string(phase.Name), d.state(t), states[i])
	}
	return plan
}
