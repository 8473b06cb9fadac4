package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A proof moves a large table with many features while eight writers use it. The process
// that moves the table is killed at random moments, and the server is killed once.
//
// Each transaction of a writer also writes to the table ledger, which has a row for each
// order that was inserted, changed or deleted. All other orders must be as they were
// created, so that every lost or repeated write is found. Table clients has a row for
// each writer with the number of its transactions.
type proof struct {
	server  *testserver.Server
	rows    int
	url     string // the database, for the child process of [runChild]
	db      *gorm.DB
	pool    *sql.DB // connections of the writers
	dialect dialect

	pace     sqlmigrate.Pace // of the moves
	children []string        // the tables that refer to orders
	tool     *regexp.Regexp  // matches errors that another migration tool causes in the writers; nil without such a tool
	path     atomic.Value    // string: the schema in which the writers find the tables, for a tool that changes it

	first  []sqlmigrate.StageName // stages in which the process is killed before the way back
	until  sqlmigrate.StageName   // the last stage before the way back
	second []sqlmigrate.StageName // stages in which the process is killed in a second move, which is completed; no second move if empty

	open    func() *gorm.DB          // opens the database like a program that has just started
	targets []any                    // of the plan
	schema  func() string            // returns the definitions of all tables
	want    func(query, want string) // fails the test unless the query returns want

	stage   atomic.Value // string: the stage and the step that are under way
	down    atomic.Bool  // whether the server is down, so that transactions fail
	writers []*proofWriter
	running sync.WaitGroup
	stop    chan struct{}
	gate    sync.RWMutex // read-locked by each writer in a transaction, and locked by check, which needs all tables at rest
}

// A dialect contains the statements of the writers that depend on the database.
type dialect struct {
	insert func(ctx context.Context, tx *sql.Tx, statement string) (id int64, err error)
	upsert string // a format that writes a row of the ledger; its arguments are a column, the ID of the order, and the value
}

// A proofWriter records how many of its transactions the server has acknowledged.
type proofWriter struct {
	*proof
	number       int
	acknowledged int                      // acknowledged transactions
	uncertain    int                      // transactions that failed while the server was down, and may or may not be committed
	refused      int                      // transactions that another tool caused to fail
	refusal      error                    // the error of the last refused transaction
	longest      map[string]time.Duration // the longest transaction of each stage and step
	err          error                    // the error that ended the writer
}

// proofChildren are the tables that refer to orders.
var proofChildren = []string{"notes", "tags", "payments", "visits"}

// mustRepeat matches errors after which a program has to repeat its transaction, also
// without a move.
var mustRepeat = regexp.MustCompile(`Error 1213\b|SQLSTATE 40P01`)

// eachPace runs a test at each pace.
func eachPace(t *testing.T, test func(*testing.T, sqlmigrate.Pace)) {
	for _, pace := range []sqlmigrate.Pace{sqlmigrate.PacePolite, sqlmigrate.PaceFull} {
		t.Run(string(pace), func(t *testing.T) { test(t, pace) })
	}
}

// start starts the writers. They run until end stops them.
func (p *proof) start(t *testing.T) {
	p.stop = make(chan struct{})
	p.stage.Store("before")
	for n := range 8 {
		w := &proofWriter{proof: p, number: n, longest: map[string]time.Duration{}}
		p.writers = append(p.writers, w)
		p.running.Go(func() { w.run(t.Context()) })
	}
}

// run repeats transactions until the proof ends or a transaction fails for a reason that
// the move must not cause.
func (w *proofWriter) run(ctx context.Context) {
	for w.err == nil {
		select {
		case <-w.stop:
			return
		case <-time.After(5 * time.Millisecond):
		}
		w.gate.RLock()
		begun := time.Now()
		err := w.transact(ctx)
		took, at := stall.Took(begun), w.stage.Load().(string)
		w.gate.RUnlock()
		switch {
		case err == nil:
			w.acknowledged++
			w.longest[at] = max(w.longest[at], took)
		case w.down.Load():
			w.uncertain++
		case w.tool != nil && w.tool.MatchString(err.Error()):
			w.refused, w.refusal = w.refused+1, err
		case !mustRepeat.MatchString(err.Error()):
			w.err = err
		}
	}
}

// transact runs a transaction, which also counts itself in table clients.
func (w *proofWriter) transact(ctx context.Context) error {
	tx, err := w.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit, it says so
	if path := w.path.Load(); path != nil {
		if _, err := tx.ExecContext(ctx, "SET LOCAL search_path TO "+path.(string)); err != nil {
			return err
		}
	}
	if err := w.write(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE clients SET transactions = transactions + 1 WHERE id = %d", w.number)); err != nil {
		return err
	}
	return tx.Commit()
}

// write changes or deletes an order of this writer, moves it to another tenant, or
// inserts an order with a row of a table that refers to it.
func (w *proofWriter) write(ctx context.Context, tx *sql.Tx) error {
	// Each of the eight writers changes only orders whose ID modulo 8 is the number of the
	// writer, so that writers do not wait for each other.
	order, value := 8*(1+rand.IntN(w.rows/8-1))+w.number, rand.IntN(8)
	switch rand.IntN(5) {
	case 0:
		return w.change(ctx, tx, fmt.Sprintf("UPDATE orders SET amount = %d WHERE id = %d", value, order), "amount", order, value)
	case 1:
		return w.change(ctx, tx, fmt.Sprintf("UPDATE orders SET tenant = %d WHERE id = %d", value, order), "tenant", order, value)
	case 2:
		return w.change(ctx, tx, fmt.Sprintf("DELETE FROM orders WHERE id = %d", order), "gone", order, 1)
	}
	id, err := w.dialect.insert(ctx, tx, fmt.Sprintf("INSERT INTO orders (tenant, user_id, amount, note) VALUES (%d, %d, 7, 'new')", value, 1+order%1000))
	if err != nil {
		return err
	}
	statements := []string{fmt.Sprintf("INSERT INTO ledger (id, tenant, amount) VALUES (%d, %d, 7)", id, value)}
	if len(w.children) > 0 {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (order_id, tenant) VALUES (%d, %d)", w.children[rand.IntN(len(w.children))], id, value))
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// change executes a statement, and writes to the ledger if the statement has changed an
// order.
func (w *proofWriter) change(ctx context.Context, tx *sql.Tx, statement, column string, id, value int) error {
	result, err := tx.ExecContext(ctx, statement)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf(w.dialect.upsert, column, id, value))
	return err
}

// run moves the tables, takes the move back, and moves them again if there is a second
// move. It fails the test if the longest transaction took more than twice the longest
// transaction without a move.
func (p *proof) run(t *testing.T) {
	before := p.schema()
	p.start(t)
	// The time without a move, before and after it, must be long enough for rare long
	// transactions of the server itself: three minutes each with five million rows.
	idle := time.Duration(p.rows) * 36 * time.Microsecond
	time.Sleep(idle)
	begun := time.Now()
	for n, stage := range p.first {
		p.killIn(t, stage)
		if n == len(p.first)/2 { // the move is in stage copy
			p.loseServer(t)
		}
	}
	p.online(t, "Apply", func(o *sqlmigrate.OnlinePlan) error {
		return o.Apply(context.Background(), p.db, sqlmigrate.WithPace(p.pace), sqlmigrate.WithLastStage(p.until), p.watch())
	})
	t.Logf("moved in %v", time.Since(begun).Round(time.Second))
	p.check(t)
	begun = time.Now()
	p.online(t, "Revert", func(o *sqlmigrate.OnlinePlan) error { return o.Revert(context.Background(), p.db, p.watch()) })
	t.Logf("reverted in %v", time.Since(begun).Round(time.Second))
	p.check(t)
	same(t, "after the way back", p.schema(), before)
	if len(p.second) > 0 {
		for _, stage := range p.second {
			p.killIn(t, stage)
		}
		p.online(t, "Apply", func(o *sqlmigrate.OnlinePlan) error {
			return o.Apply(context.Background(), p.db, sqlmigrate.WithPace(p.pace), p.watch())
		})
		p.online(t, "Finish", func(o *sqlmigrate.OnlinePlan) error { return o.Finish(context.Background(), p.db, p.watch()) })
		p.check(t)
	}
	p.end(t, idle)
	if worst := p.longest(t); worst > 2 {
		t.Errorf("the longest transaction took %.2f times the longest without a move, want at most 2", worst)
	}
}

// end lets the writers work without a move for some time and stops them.
func (p *proof) end(t *testing.T, idle time.Duration) {
	t.Helper()
	p.stage.Store("after")
	time.Sleep(idle)
	close(p.stop)
	p.running.Wait()
}

// busy is a part of the error of a run on MariaDB or MySQL if the server still executes
// the last statement of a process that was killed. On PostgreSQL the run itself waits.
const busy = "another run is under way"

// online makes a plan like a program that has just started, and calls do with it. It
// repeats this while the server still executes a statement of a killed process.
func (p *proof) online(t *testing.T, what string, do func(*sqlmigrate.OnlinePlan) error) {
	t.Helper()
	for {
		plan, err := tryOnline(t.Context(), p.open(), p.targets...)
		if err == nil {
			err = do(plan)
		}
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), busy) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// watch returns an option that records the step that is under way.
func (p *proof) watch() sqlmigrate.OnlineOption {
	return sqlmigrate.WithOnlineProgress(func(now sqlmigrate.OnlineProgress) { p.setStage(string(now.Stage), now.Step) })
}

// setStage records the stage and the step that are under way, by which the writers group
// their longest transactions.
func (p *proof) setStage(stage, step string) { p.stage.Store(stage + " " + shortStep(step)) }

// child starts a process that moves the tables. It repeats this while the server still
// executes a statement of a killed process.
func (p *proof) child(t *testing.T, at func(stage, step string, kill func())) (done bool, failed string) {
	t.Helper()
	for {
		done, failed = runChild(t, p.url, p.pace, func(stage, step string, kill func()) {
			p.setStage(stage, step)
			at(stage, step, kill)
		})
		if !strings.Contains(failed, busy) {
			return done, failed
		}
	}
}

// killIn starts a process that moves the tables, and kills it a random time after it has
// begun the stage. The process resumes the move where the previous process was killed.
func (p *proof) killIn(t *testing.T, stage sqlmigrate.StageName) {
	t.Helper()
	delay := rand.N(20 * time.Millisecond)
	if stage == sqlmigrate.StageCopy {
		delay = p.copyDelay()
	}
	begun, at := false, ""
	done, failed := p.child(t, func(now, _ string, kill func()) {
		at = now
		if now == string(stage) && !begun {
			begun = true
			time.AfterFunc(delay, kill)
		}
	})
	if done || failed != "" {
		t.Fatalf("the process was not killed in stage %s: done %t, %s", stage, done, failed)
	}
	t.Logf("killed in stage %s, %v after the first step of %s", at, delay.Round(time.Millisecond), stage)
}

// copyDelay returns a random time after the start of stage copy, at which a test kills the
// process or the server. It grows with the number of rows, and is shorter at full pace, so
// that several kills fall into the stage.
func (p *proof) copyDelay() time.Duration {
	perRow := 8 * time.Microsecond
	if p.pace == sqlmigrate.PaceFull {
		perRow = 3 * time.Microsecond
	}
	return rand.N(time.Duration(p.rows) * perRow)
}

// loseServer starts a process that moves the tables, kills the server while the tables are
// copied, and starts the server again. The process must fail, because its connection is
// lost.
func (p *proof) loseServer(t *testing.T) {
	t.Helper()
	var once sync.Once
	lost := make(chan error, 1)
	_, failed := p.child(t, func(now, _ string, _ func()) {
		if now != string(sqlmigrate.StageCopy) {
			return
		}
		once.Do(func() {
			time.AfterFunc(p.copyDelay(), func() {
				p.down.Store(true)
				p.server.Kill()
				time.Sleep(time.Second)
				lost <- p.server.Start()
			})
		})
	})
	if failed == "" {
		t.Fatal("the process noticed nothing of the server's end")
	}
	if err := <-lost; err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // until then, transactions on broken connections count as uncertain
	p.down.Store(false)
	t.Logf("the server was killed; the process said: %s", failed)
}

// check compares the tables with the ledger while the writers wait. Except for the query on
// table clients, each query counts rows that contradict the ledger, or computes by how much
// a number of rows is wrong, so the result must be 0.
func (p *proof) check(t *testing.T) {
	t.Helper()
	p.gate.Lock()
	defer p.gate.Unlock()
	committed := 0
	for _, w := range p.writers {
		if w.err != nil {
			t.Fatalf("writer %d: %v", w.number, w.err)
		}
		committed += w.acknowledged
		p.want(fmt.Sprintf("SELECT COUNT(*) FROM clients WHERE id = %d AND transactions BETWEEN %d AND %d", w.number, w.acknowledged, w.acknowledged+w.uncertain), "1")
	}
	t.Logf("%d transactions", committed)
	// An order of the ledger that was not deleted has the values that were written last. A
	// value that no writer wrote is the value with which the order was created. An order
	// that was deleted (gone = 1) does not exist.
	p.want("SELECT COUNT(*) FROM ledger l LEFT JOIN orders o ON o.id = l.id WHERE l.gone IS NULL AND (o.id IS NULL OR o.amount <> COALESCE(l.amount, l.id % 1000) OR o.tenant <> COALESCE(l.tenant, l.id % 8))", "0")
	p.want("SELECT COUNT(*) FROM ledger l JOIN orders o ON o.id = l.id WHERE l.gone = 1", "0")
	// Orders that no writer changed have the values with which they were created.
	p.want("SELECT COUNT(*) FROM orders o LEFT JOIN ledger l ON l.id = o.id WHERE l.id IS NULL AND (o.amount <> o.id % 1000 OR o.tenant <> o.id % 8 OR o.user_id <> 1 + o.id % 1000)", "0")
	// The number of orders is right. The first p.rows orders were created before the
	// writers.
	p.want(fmt.Sprintf("SELECT (SELECT COUNT(*) FROM orders) - %d - (SELECT COUNT(*) FROM ledger WHERE id > %d) + (SELECT COUNT(*) FROM ledger WHERE id <= %[2]d AND gone = 1)", p.rows, p.rows), "0")
	if len(p.children) == 0 {
		return
	}
	// Each row of a child has its order. Every tenth order had a row in each child, which
	// was deleted with the order. Each order that a writer inserted has a row in one
	// child.
	children := ""
	for _, table := range p.children {
		p.want("SELECT COUNT(*) FROM "+table+" c LEFT JOIN orders o ON o.id = c.order_id WHERE o.id IS NULL", "0")
		p.want(fmt.Sprintf("SELECT (SELECT COUNT(*) FROM %s WHERE order_id <= %d) - %d + (SELECT COUNT(*) FROM ledger WHERE id <= %[2]d AND gone = 1 AND id %% 10 = 0)", table, p.rows, p.rows/10), "0")
		children += fmt.Sprintf(" - (SELECT COUNT(*) FROM %s WHERE order_id > %d)", table, p.rows)
	}
	p.want(fmt.Sprintf("SELECT (SELECT COUNT(*) FROM ledger WHERE id > %d)%s", p.rows, children), "0")
}

// longest logs the longest transaction of each stage. It returns the longest of all, as a
// multiple of the longest transaction without a move.
func (p *proof) longest(t *testing.T) float64 {
	t.Helper()
	longest := map[string]time.Duration{}
	for _, w := range p.writers {
		for at, took := range w.longest {
			longest[at] = max(longest[at], took)
		}
	}
	idle, worst := max(longest["before"], longest["after"]), 0.0
	for _, at := range slices.Sorted(maps.Keys(longest)) {
		ratio := longest[at].Seconds() / idle.Seconds()
		worst = max(worst, ratio)
		t.Logf("%s: the longest transaction took %v, %.2f times the longest without a move", at, longest[at].Round(time.Millisecond), ratio)
	}
	return worst
}
