package migratetest

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

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// PgServer is a PostgreSQL server that several tests share. Each test creates its own
// database with [PgServer.Database].
type PgServer struct {
	Admin  *gorm.DB
	URL    string
	pgDump string
	count  atomic.Int64
}

// NewPgServer returns a PgServer for server. It dumps databases with the pg_dump of the
// server's version.
func NewPgServer(t testing.TB, server *testserver.Server) *PgServer {
	t.Helper()
	s := &PgServer{Admin: PgOpen(t, server.URL()), URL: server.URL()}
	var bin string
	if err := s.Admin.Raw("SELECT setting FROM pg_config WHERE name = 'BINDIR'").Row().Scan(&bin); err != nil {
		t.Fatal(err)
	}
	s.pgDump = filepath.Join(bin, "pg_dump")
	return s
}

// PgOpen opens a database and closes it at the end of the test.
func PgOpen(t testing.TB, url string) *gorm.DB {
	t.Helper()
	return testdb.OpenWith(t, postgres.Open(url))
}

// PgDatabase is the database of a single test.
type PgDatabase struct {
	*gorm.DB
	URL    string
	pgDump string
}

// Database creates a database and executes ddl in it.
func (s *PgServer) Database(t *testing.T, ddl string) *PgDatabase {
	t.Helper()
	name := fmt.Sprintf("db%d", s.count.Add(1))
	Run(t, s.Admin, "CREATE DATABASE "+name)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = name
	d := &PgDatabase{DB: PgOpen(t, u.String()), URL: u.String(), pgDump: s.pgDump}
	d.Script(t, ddl)
	return d
}

// As opens the database as another role.
func (d *PgDatabase) As(t *testing.T, role string) *gorm.DB {
	t.Helper()
	return PgOpen(t, strings.Replace(d.URL, "postgres@", role+"@", 1))
}

// Script executes several statements in one call, as golang-migrate does, and stops the
// test if they fail.
func (d *PgDatabase) Script(t *testing.T, text string) {
	t.Helper()
	if err := d.TryScript(text); err != nil {
		t.Fatal(err)
	}
}

// TryScript executes several statements in one call and returns their error.
func (d *PgDatabase) TryScript(text string) error {
	pool, err := d.DB.DB()
	if err != nil {
		return err
	}
	_, err = pool.Exec(text)
	return err
}

// Value returns the single value of a query, as text.
func (d *PgDatabase) Value(t *testing.T, query string) string {
	t.Helper()
	var value string
	if err := d.Raw("SELECT (" + query + ")::text").Row().Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// pgToken matches the lines with a random token, which is different in each dump.
var pgToken = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// Dump returns the output of pg_dump: the schema with its rights, comments and
// publications, the rows, and the positions of the sequences.
func (d *PgDatabase) Dump(t *testing.T) string {
	t.Helper()
	return d.Dumped(t)
}

// Dumped returns the output of pg_dump with the given arguments, without the random token
// that pg_dump writes.
func (d *PgDatabase) Dumped(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command(d.pgDump, append(args, "--dbname="+d.URL)...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, stderr.String())
	}
	return pgToken.ReplaceAllString(string(out), "")
}

// Inspect plans a move and compares the plan with the recorded one. It uses a new pool,
// like a program that has just started.
func (d *PgDatabase) Inspect(t *testing.T, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := Inspect(context.Background(), PgOpen(t, d.URL), targets...)
	if err != nil {
		t.Fatal(err)
	}
	Plan(t, d.DB, plan)
	return plan
}

// Apply applies a plan and stops the test if that fails.
func (d *PgDatabase) Apply(t *testing.T, plan *sqlmigrate.Plan, opts ...sqlmigrate.ApplyOption) {
	t.Helper()
	if err := plan.Apply(context.Background(), d.DB, opts...); err != nil {
		t.Fatal(err)
	}
}

// Revert takes a plan back and stops the test if that fails.
func (d *PgDatabase) Revert(t *testing.T, plan *sqlmigrate.Plan, opts ...sqlmigrate.ApplyOption) {
	t.Helper()
	if err := plan.Revert(context.Background(), d.DB, opts...); err != nil {
		t.Fatal(err)
	}
}

// PgSame fails the test if two texts differ. The message begins with what and shows the
// difference.
func PgSame(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, testdb.Diff(want, got))
	}
}

// RoundTrip applies a plan and takes it back. It fails the test if Apply changes a
// property that [PgDatabase.Kept] returns, if a plan that is made after Apply is not
// empty, or if the database differs from its former state after Revert.
func (d *PgDatabase) RoundTrip(t *testing.T, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan := d.Inspect(t, targets...)
	before, kept := d.State(t), d.Kept(t)
	d.Apply(t, plan)
	PgSame(t, "after up", d.Kept(t), kept)
	if again := d.Inspect(t, targets...); !again.Empty() || again.Err() != nil {
		t.Errorf("after up, the plan is not empty:\n%s", again)
	}
	d.Revert(t, plan)
	PgSame(t, "after down of all phases", d.State(t), before)
	return plan
}

// PhaseByPhase applies the phases of a plan one by one and takes them back in the same
// way. It fails the test unless the state after each reverted phase is the state before
// the phase was applied.
func (d *PgDatabase) PhaseByPhase(t *testing.T, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan := d.Inspect(t, targets...)
	states := []string{d.State(t)}
	for _, phase := range plan.Phases {
		d.Apply(t, plan, sqlmigrate.WithPhases(phase.Name))
		states = append(states, d.State(t))
	}
	for i, phase := range slices.Backward(plan.Phases) {
		d.Revert(t, plan, sqlmigrate.WithPhases(phase.Name))
		PgSame(t, "after down of "+string(phase.Name), d.State(t), states[i])
	}
	return plan
}
