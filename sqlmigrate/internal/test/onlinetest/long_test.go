package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// longStall is the time by which the longest transaction during the move may exceed the
// longest transaction before and after it.
const longStall = 250 * time.Millisecond

// longRows returns the value of GORMFLAKE_TEST_ROWS, which is the number of parents and
// the number of rows of each of the two children. It skips the test if the variable is
// not set.
func longRows(t *testing.T) int {
	t.Helper()
	text := os.Getenv("GORMFLAKE_TEST_ROWS")
	if text == "" {
		t.Skip("GORMFLAKE_TEST_ROWS is not set: the number of parents, as 1000000")
	}
	rows, err := strconv.Atoi(text)
	if err != nil || rows < 1000 || rows > 500_000_000 {
		t.Fatalf("GORMFLAKE_TEST_ROWS = %q, want a number from 1000 to 500000000", text)
	}
	return rows
}

// A longClient is a program that writes or reads at full speed. For each step of the move,
// it records the number of its calls and the longest time of a call.
type longClient struct {
	program
	stage   *atomic.Value            // the step that is under way, as a string, or before, finish or after
	longest map[string]time.Duration // by step
	times   map[string]int           // by step
}

// newLongClient returns a client that calls do, and counts each call for the step that is
// under way when the call ends.
func newLongClient(name string, stage *atomic.Value, do func(context.Context, *sql.Conn) error) *longClient {
	c := &longClient{stage: stage, longest: map[string]time.Duration{}, times: map[string]int{}}
	c.program = program{name: name, do: func(ctx context.Context, conn *sql.Conn) error {
		begun := time.Now()
		err := do(ctx, conn)
		took := time.Since(begun)
		at := stage.Load().(string)
		c.longest[at] = max(c.longest[at], took)
		c.times[at]++
		return err
	}}
	return c
}

// longWriter returns a function that executes the statements of write in a transaction.
// write receives the numbers of two random rows.
func longWriter(rows int, write func(row, other int) []string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, conn *sql.Conn) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit, it says so
		for _, s := range write(1+rand.IntN(rows), 1+rand.IntN(rows)) {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
}

// postgresLongWrite returns statements that change a parent, give a line another parent,
// insert a parent with children, and delete a note.
func postgresLongWrite(row, other int) []string {
	return []string{
		fmt.Sprintf("UPDATE parents SET name = name || '.' WHERE id = %d", row),
		fmt.Sprintf("UPDATE lines SET parent_id = %d WHERE id = %d", other, row),
		"WITH p AS (INSERT INTO parents (name) VALUES ('new') RETURNING id), l AS (INSERT INTO lines (parent_id) SELECT id FROM p) INSERT INTO notes (parent_id) SELECT id FROM p",
		fmt.Sprintf("DELETE FROM notes WHERE id = %d", row),
	}
}

// longReader returns a function that counts the lines of a random parent. The name of the
// table is a parameter, because LINES is a reserved word of MariaDB and must be quoted
// there.
func longReader(rows int, lines string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, conn *sql.Conn) error {
		var n int
		return conn.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM parents p JOIN %s l ON l.parent_id = p.id WHERE p.id = %d", lines, 1+rand.IntN(rows))).Scan(&n)
	}
}

// TestLongPostgres moves large tables while programs use them, and fails if a transaction
// takes much longer than without the move. With a million rows it takes a quarter of an
// hour on two cores.
func TestLongPostgres(t *testing.T) {
	rows := longRows(t)
	d := startPostgres(t).database(t, fmt.Sprintf(`
CREATE TABLE parents (id serial PRIMARY KEY, name text NOT NULL);
CREATE TABLE lines (id serial PRIMARY KEY, parent_id integer NOT NULL CONSTRAINT fk_line REFERENCES parents ON DELETE CASCADE);
CREATE TABLE notes (id serial PRIMARY KEY, parent_id integer NOT NULL CONSTRAINT fk_note REFERENCES parents ON DELETE CASCADE);
INSERT INTO parents (name) SELECT 'parent ' || n FROM generate_series(1, %[1]d) AS n;
INSERT INTO lines (parent_id) SELECT 1 + n %% %[1]d FROM generate_series(1, %[1]d) AS n;
INSERT INTO notes (parent_id) SELECT 1 + n %% %[1]d FROM generate_series(1, %[1]d) AS n;
CREATE INDEX ix_lines ON lines (parent_id);
CREATE INDEX ix_notes ON notes (parent_id);`, rows))
	d.Script(t, "VACUUM ANALYZE")
	longMove{
		db: d.DB, programs: migratetest.PgOpen(t, d.URL+"&default_query_exec_mode=exec"),
		write: longWriter(rows, postgresLongWrite), read: longReader(rows, "lines"), rows: rows,
		plan: func() *sqlmigrate.OnlinePlan { return d.online(t, longTables...) },
		size: func() string { return d.Value(t, "pg_database_size(current_database()) / 1000000") },
		log:  func() string { return d.Value(t, "round((pg_current_wal_lsn() - '0/0'::pg_lsn) / 1000000)") },
	}.measure(t)
}

// longTables are the targets of the move in the long tests.
var longTables = []any{"parents", "lines", "notes"}

// A longMove contains the parts of the long tests that depend on the database.
type longMove struct {
	db, programs *gorm.DB                               // the pool of the move, and the pool of the clients
	write, read  func(context.Context, *sql.Conn) error // what the two clients repeat
	rows         int
	plan         func() *sqlmigrate.OnlinePlan
	size, log    func() string // the sizes of the database and of the log that was written, in MB
}

// measure moves the tables while programs use them, and fails the test if a program had
// to wait too long.
func (m longMove) measure(t *testing.T) {
	var stage atomic.Value
	stage.Store("before")
	clients := []*longClient{newLongClient("writer", &stage, m.write), newLongClient("reader", &stage, m.read)}
	programs := startLoad(t, m.programs, &clients[0].program, &clients[1].program)
	// The programs run without a move before and after it. Both times together are as
	// long as the copy, so that rare long transactions of the server itself are in them
	// too.
	idle := 5*time.Second + time.Duration(m.rows)*200*time.Microsecond
	time.Sleep(idle)
	t.Logf("database %s MB, log %s MB", m.size(), m.log())

	plan := m.plan()
	took, disk, logged := plan.Estimate()
	t.Logf("estimate %v, disk %d MB, log %d MB", took.Round(time.Second), disk/1e6, logged/1e6)
	begun, previous := time.Now(), sqlmigrate.OnlineProgress{}
	stageTimes := map[sqlmigrate.StageName]time.Duration{}
	err := plan.Apply(context.Background(), m.db, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		stageTimes[previous.Stage] += p.Elapsed - previous.Elapsed
		if p.Done != previous.Done || p.Step != previous.Step {
			t.Logf("%v %s %s %s", p.Elapsed.Round(time.Millisecond), p.Stage, p.Table, p.Step)
		}
		if p.Waiting != "" {
			t.Logf("waits for %s", p.Waiting)
		}
		previous = p
		stage.Store(string(p.Stage) + " " + shortStep(p.Step))
	}))
	if err != nil {
		t.Error(err)
	}
	t.Logf("took %v: %v; database %s MB; log %s MB", time.Since(begun).Round(time.Second), stageTimes, m.size(), m.log())
	stage.Store("finish")
	if err := plan.Finish(context.Background(), m.db); err != nil {
		t.Error(err)
	}
	stage.Store("after")
	time.Sleep(idle)
	programs.end(t)
	for _, c := range clients {
		c.judge(t)
	}
}

// shortStep returns the first two words of the text of a step, so that the steps of
// different tables count as the same.
func shortStep(text string) string {
	word, rest := "", text
	for range 2 {
		var next string
		if n, err := fmt.Sscan(rest, &next); n == 1 && err == nil {
			word += next + " "
			rest = rest[min(len(rest), len(next)+1):]
		}
	}
	return word
}

// judge logs the longest time of each step, and fails the test if it exceeds the longest
// time without the move by more than longStall.
func (c *longClient) judge(t *testing.T) {
	t.Helper()
	without := max(c.longest["before"], c.longest["after"])
	for _, at := range slices.Sorted(maps.Keys(c.longest)) {
		t.Logf("%s, %s: %d times, the longest took %v", c.program.name, at, c.times[at], c.longest[at].Round(time.Millisecond))
		if c.longest[at] > without+longStall {
			t.Errorf("%s, %s: the longest took %v, and %v without the move: want at most %v more", c.program.name, at, c.longest[at].Round(time.Millisecond), without.Round(time.Millisecond), longStall)
		}
	}
}
