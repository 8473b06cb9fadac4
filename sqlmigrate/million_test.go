package sqlmigrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

const (
	millionFactor   = 4                      // the factor by which an estimate may be wrong
	millionJudged   = 500 * time.Millisecond // estimates of shorter steps are not judged
	millionHeap     = 16 << 20               // the largest growth of the heap, in bytes
	millionInterval = 10 * time.Millisecond  // the time between two samples of the heap, and between two transactions of a client
)

// TestMillion moves large tables. It compares the estimates of the plan with the
// durations, and fails if they are wrong by more than millionFactor, if Apply uses much
// memory, or if another program gets an error. GORMFLAKE_TEST_ROWS is the number of
// parents, and there are twice as many children. With 1000000 the test takes about 3
// minutes on two cores.
func TestMillion(t *testing.T) {
	text := os.Getenv("GORMFLAKE_TEST_ROWS")
	if text == "" {
		t.Skip("GORMFLAKE_TEST_ROWS is not set: the number of parents, as 1000000")
	}
	parents, err := strconv.Atoi(text)
	if err != nil || parents < 100 || parents > 500_000_000 {
		t.Fatalf("GORMFLAKE_TEST_ROWS = %q, want a number from 100 to 500000000", text)
	}
	for _, target := range []testdb.Target{testdb.Postgres, testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) { // not in parallel, because it measures time
			newMillion(t, target, parents).move(t)
		})
	}
}

// A million is a database with the tables of TestMillion, whose keys the database
// assigns.
type million struct {
	*gorm.DB
	pool     *sql.DB
	parents  int
	children int
}

// newMillion creates and fills the tables: parents, of which most refer to another parent
// as their leader, and children, which refer to a parent.
func newMillion(t *testing.T, target testdb.Target, parents int) *million {
	t.Helper()
	db := testdb.Open(t, target)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	m := &million{DB: db, pool: pool, parents: parents, children: 2 * parents}
	begun := time.Now()
	key, analyze := "SERIAL", "ANALYZE "
	if db.Name() == "mysql" {
		key, analyze = "INT AUTO_INCREMENT", "ANALYZE TABLE "
	}
	migratetest.Run(t, db,
		"CREATE TABLE parents (id "+key+" PRIMARY KEY, leader_id INT NULL, name VARCHAR(100) NOT NULL, email VARCHAR(100) NOT NULL, "+
			"CONSTRAINT fk_leader FOREIGN KEY (leader_id) REFERENCES parents (id))",
		"CREATE INDEX ix_leader ON parents (leader_id)",
		"CREATE INDEX ix_email ON parents (email)",
		"CREATE TABLE children (id "+key+" PRIMARY KEY, parent_id INT NOT NULL, "+
			"CONSTRAINT fk_parent FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE CASCADE)",
		"CREATE INDEX ix_parent ON children (parent_id)",
		"INSERT INTO parents (leader_id, name, email) SELECT CASE WHEN n > 100 THEN NULLIF(n % 100, 0) END, concat('Customer ', n), concat('customer', n, '@example.com') FROM "+m.numbers(m.parents),
		fmt.Sprintf("INSERT INTO children (parent_id) SELECT 1 + n %% %d FROM %s", m.parents, m.numbers(m.children)),
		analyze+"parents", analyze+"children",
	)
	t.Logf("%d parents and %d children made in %v", m.parents, m.children, time.Since(begun).Round(time.Millisecond))
	return m
}

// numbers returns the end of a SELECT, after FROM, with all n from 1 to largest in order.
// On MySQL and MariaDB, which have no generate_series, it joins a table of digits with
// itself.
func (m *million) numbers(largest int) string {
	if m.Dialector.Name() == "postgres" {
		return fmt.Sprintf("generate_series(1, %d) AS numbers (n)", largest)
	}
	const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 " +
		"UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	var sums, joins []string
	for i, power := 0, 1; power <= largest; i, power = i+1, power*10 {
		sums = append(sums, fmt.Sprintf("t%d.d * %d", i, power))
		joins = append(joins, fmt.Sprintf("%s AS t%d", digits, i))
	}
	return fmt.Sprintf("(SELECT %s AS n FROM %s) AS numbers WHERE n BETWEEN 1 AND %d ORDER BY n",
		strings.Join(sums, " + "), strings.Join(joins, " CROSS JOIN "), largest)
}

// move applies the phases one by one, checks the rows, and reverts the plan.
func (m *million) move(t *testing.T) {
	begun := time.Now()
	plan, err := sqlmigrate.Inspect(t.Context(), m.DB, "parents", "children")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Inspect took %v:\n%v", time.Since(begun).Round(time.Millisecond), plan)
	if len(plan.Tables) != 2 || len(plan.Phases) != 3 {
		t.Fatalf("%d tables and %d phases, want 2 and 3", len(plan.Tables), len(plan.Phases))
	}
	growth := watchHeap()
	for _, phase := range plan.Phases {
		m.phase(t, plan, phase)
	}
	if grown := growth(); grown > millionHeap {
		t.Errorf("the heap grew by %d KiB, want at most %d", grown>>10, millionHeap>>10)
	} else {
		t.Logf("the heap grew by %d KiB at most", grown>>10)
	}
	m.checkMoved(t)
	m.revert(t, plan)
}

// phase applies one phase while other programs read and write, and compares the estimates
// with the durations.
func (m *million) phase(t *testing.T, plan *sqlmigrate.Plan, phase sqlmigrate.Phase) {
	t.Helper()
	clients := []*millionClient{
		{name: "SELECT", do: millionRead},
		{name: "INSERT", do: millionWrite},
	}
	stop := m.start(t, clients)
	times := stepTimes{taken: map[[2]string]time.Duration{}}
	begun := time.Now()
	err := plan.Apply(t.Context(), m.DB, sqlmigrate.WithPhases(phase.Name), sqlmigrate.WithProgress(times.see))
	taken := time.Since(begun)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	var estimate time.Duration
	for _, step := range phase.Steps {
		estimate += step.Estimate
		t.Logf("  %s, %s: took %v, estimate %v", step.Table, step.Text, times.taken[[2]string{step.Table.String(), step.Text}].Round(time.Millisecond), step.Estimate.Round(time.Millisecond))
	}
	t.Logf("phase %s took %v, estimate %v%s", phase.Name, taken.Round(time.Millisecond), estimate.Round(time.Millisecond), errorPercent(estimate, taken))
	if max(estimate, taken) > millionJudged && (estimate > millionFactor*taken || taken > millionFactor*estimate) {
		t.Errorf("phase %s took %v, estimate %v: want it to be wrong by a factor of %d at most", phase.Name, taken, estimate, millionFactor)
	}
	for _, c := range clients {
		c.report(t)
	}
}

// errorPercent returns by how many percent an estimate was wrong, as a part of a log
// line.
func errorPercent(estimate, taken time.Duration) string {
	if estimate == 0 {
		return ""
	}
	return fmt.Sprintf(", error %+.0f %%", 100*(float64(estimate)/float64(taken)-1))
}

// stepTimes are the durations of the steps of a phase, by table and text.
type stepTimes struct {
	taken map[[2]string]time.Duration
	now   [2]string     // the step that is under way
	since time.Duration // the time from the call of Apply to the last call of see
}

// see adds the time since its last call to the step that was under way.
func (s *stepTimes) see(p sqlmigrate.Progress) {
	s.taken[s.now] += p.Elapsed - s.since
	s.now, s.since = [2]string{p.Table.String(), p.Step}, p.Elapsed
}

// A millionClient is another program, which repeats a transaction.
type millionClient struct {
	name      string
	do        func(context.Context, *sql.Conn) error
	times     int
	longest   time.Duration
	deadlocks int
	err       error
}

// millionRead reads a parent with its children. It accesses the parents first, as the
// plan does, because a transaction that accesses the children first can deadlock with the
// plan.
func millionRead(ctx context.Context, conn *sql.Conn) error {
	var n int
	return conn.QueryRowContext(ctx, "SELECT count(*) FROM parents p JOIN children c ON c.parent_id = p.id WHERE p.id = 7").Scan(&n)
}

// millionID is a key that no other row has, and that fits the columns before and after
// the move.
const millionID = 2_000_000_000

// millionWrite inserts a parent with a child, and rolls back, so that the number of rows
// stays the same.
func millionWrite(ctx context.Context, conn *sql.Conn) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is never committed
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO parents (id, name, email) VALUES (%d, 'new', 'new')", millionID)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO children (id, parent_id) VALUES (%d, %[1]d)", millionID))
	return err
}

// start starts the clients, and returns after each of them has completed one transaction.
// stop ends the clients.
func (m *million) start(t *testing.T, clients []*millionClient) (stop func()) {
	t.Helper()
	stopped := make(chan struct{})
	var running sync.WaitGroup
	for _, c := range clients {
		conn, err := m.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.do(t.Context(), conn); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		running.Go(func() {
			defer conn.Close()
			c.run(t.Context(), conn, stopped)
		})
	}
	return func() {
		close(stopped)
		running.Wait()
	}
}

// run repeats the transaction every millionInterval until stopped is closed.
func (c *millionClient) run(ctx context.Context, conn *sql.Conn, stopped <-chan struct{}) {
	ticker := time.NewTicker(millionInterval)
	defer ticker.Stop()
	for c.err == nil {
		begun := time.Now()
		err := c.do(ctx, conn)
		c.longest, c.times = max(c.longest, time.Since(begun)), c.times+1
		switch {
		case err == nil:
		case strings.Contains(strings.ToLower(err.Error()), "deadlock"): // the program repeats its transaction
			c.deadlocks++
		default:
			c.err = err
		}
		select {
		case <-stopped:
			return
		case <-ticker.C:
		}
	}
}

// report logs the client's longest transaction, and fails the test if it got an error.
func (c *millionClient) report(t *testing.T) {
	t.Helper()
	t.Logf("  %s of another connection: %d times, the longest took %v, %d deadlocks", c.name, c.times, c.longest.Round(time.Millisecond), c.deadlocks)
	if c.err != nil {
		t.Errorf("%s of another connection: %v", c.name, c.err)
	}
}

// watchHeap starts to measure the heap. growth ends the measurement, and returns by how
// many bytes the heap grew at most.
func watchHeap() (growth func() uint64) {
	runtime.GC()
	before := heapBytes()
	most := before
	stopped := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(millionInterval)
		defer ticker.Stop()
		for {
			most = max(most, heapBytes())
			select {
			case <-stopped:
				return
			case <-ticker.C:
			}
		}
	})
	return func() uint64 {
		close(stopped)
		running.Wait()
		return most - before
	}
}

// heapBytes returns the size of the objects on the heap.
func heapBytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// checkMoved checks that no row is lost, that the foreign keys still refuse a child
// without a parent and delete with a parent its children, that keys of today are
// accepted, and that there is nothing more to do.
func (m *million) checkMoved(t *testing.T) {
	t.Helper()
	m.checkRows(t)
	for _, insert := range []string{
		"INSERT INTO parents (id, leader_id, name, email) VALUES (2000000000, 1999999999, 'x', 'x')",
		"INSERT INTO children (id, parent_id) VALUES (2000000000, 1999999999)",
	} {
		if err := m.Exec(insert).Error; err == nil || !strings.Contains(strings.ToLower(err.Error()), "foreign key constraint") {
			t.Errorf("%s: %v, want the error of a foreign key", insert, err)
		}
	}
	id := snowflake.TwitterLayout().Min(time.Now()).Int64()
	migratetest.Run(t, m.DB,
		fmt.Sprintf("INSERT INTO parents (id, leader_id, name, email) VALUES (%d, 1, 'new', 'new')", id),
		fmt.Sprintf("INSERT INTO children (id, parent_id) VALUES (%d, %d)", id+1, id),
		fmt.Sprintf("DELETE FROM parents WHERE id = %d", id), // the child is deleted by a cascade
	)
	m.checkRows(t)
	if again, err := sqlmigrate.Inspect(t.Context(), m.DB, "parents", "children"); err != nil || !again.Empty() {
		t.Errorf("a second plan: %v, %v, want an empty one", again, err)
	}
}

// checkRows checks that all rows and their references are there. For the parents, it counts
// those that have a leader. The first hundred have no leader, and neither has any parent
// whose number is a multiple of a hundred. Parent 100 is among both, so the count subtracts
// 99, and not 100.
func (m *million) checkRows(t *testing.T) {
	t.Helper()
	m.checkCount(t, m.parents, "SELECT count(*) FROM parents")
	m.checkCount(t, m.children, "SELECT count(*) FROM children c JOIN parents p ON p.id = c.parent_id")
	m.checkCount(t, m.children, "SELECT count(*) FROM children")
	m.checkCount(t, m.parents-m.parents/100-99, "SELECT count(*) FROM parents p JOIN parents l ON l.id = p.leader_id")
}

// checkCount fails the test unless the query returns want.
func (m *million) checkCount(t *testing.T, want int, query string) {
	t.Helper()
	var got int
	if err := m.Raw(query).Scan(&got).Error; err != nil || got != want {
		t.Errorf("%s: %d, %v, want %d", query, got, err, want)
	}
}

// revert takes the plan back, and checks that the database assigns the next keys again.
func (m *million) revert(t *testing.T, plan *sqlmigrate.Plan) {
	t.Helper()
	begun := time.Now()
	if err := plan.Revert(t.Context(), m.DB); err != nil {
		t.Fatal(err)
	}
	t.Logf("Revert took %v", time.Since(begun).Round(time.Millisecond))
	m.checkRows(t)
	migratetest.Run(t, m.DB,
		"INSERT INTO parents (name, email) VALUES ('next', 'next')",
		"INSERT INTO children (parent_id) VALUES (1)",
	)
	parent, child := m.parents+1, m.children+1
	if m.Name() == "mysql" { // rolled back inserts of millionWrite have advanced the counters
		parent, child = millionID+1, millionID+1
	}
	m.checkCount(t, parent, "SELECT max(id) FROM parents")
	m.checkCount(t, child, "SELECT max(id) FROM children")
}
