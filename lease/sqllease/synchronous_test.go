package sqllease_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// galeraStatements records the statements that reach a server of MariaDB, and makes the
// server answer like a node of a Galera cluster. Its method rewrite is the rewrite of a
// proxy.
type galeraStatements struct {
	mu  sync.Mutex
	all []string
}

// rewrite returns the statement that is sent in place of statement. It records statement,
// unless the store only inspects the connection by it.
func (s *galeraStatements) rewrite(statement string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !inspects(statement) {
		s.all = append(s.all, statement)
	}
	if strings.Contains(statement, "wsrep\\_on") {
		return "SELECT 'wsrep_on', 'ON'"
	}
	return statement
}

// inspects reports whether the statement inspects the connection, so that the tests
// ignore it.
func inspects(statement string) bool {
	return strings.Contains(statement, "@@hostname") || strings.HasPrefix(statement, "SET TRANSACTION") || strings.HasPrefix(statement, "SHOW CREATE")
}

// take returns the recorded statements and forgets them.
func (s *galeraStatements) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Compact(s.all) // a statement that is prepared and then executed counts once
	s.all = nil
	return all
}

// A node of a Galera cluster may lag. So the reads of a store must wait for writes that other
// nodes have acknowledged, by wsrep_sync_wait = 7. An UPDATE that has changed no row must be
// repeated in the same way, because the node may have lacked the latest version of the row.
// Afterwards the application's session must have its own setting again. A proxy makes one
// MariaDB server answer like such a node.
func TestSynchronousOnGalera(t *testing.T) {
	t.Parallel()
	const set, reset = "SET SESSION wsrep_sync_wait = 7", "SET SESSION wsrep_sync_wait = 0"
	db := testdb.Open(t, testdb.MariaDB)
	if db.Exec("SELECT @@SESSION.wsrep_sync_wait").Error != nil {
		t.Skip("this server knows nothing of Galera")
	}
	var statements galeraStatements
	p := &proxy{rewrite: statements.rewrite}
	store := newStore(proxied(t, db, p))
	swap(t, store, 1, lease.Record{}, first, true)
	statements.take()

	load(t, store)
	// The first statement reads the setting.
	if got := statements.take(); len(got) != 4 || got[1] != set || !strings.HasPrefix(got[2], "SELECT worker_id") || got[3] != reset {
		t.Errorf("Load has sent %q, want the read between %q and %q", got, set, reset)
	}
	// The first UPDATE seems to change no row.
	p.onWrite(func(func() (driver.Result, error)) (driver.Result, error) { return driver.RowsAffected(0), nil })
	swap(t, store, 1, first, second, true)
	// The first two statements are the UPDATE that changed no row, and a read of the setting.
	if got := statements.take(); len(got) != 5 || got[2] != set || !strings.HasPrefix(got[3], "UPDATE") || got[4] != reset {
		t.Errorf("CompareAndSwap has sent %q, want the UPDATE once more between %q and %q", got, set, reset)
	}
	swap(t, store, 1, second, third, true)
	if got := statements.take(); len(got) != 1 {
		t.Errorf("CompareAndSwap has sent %q, want the UPDATE alone", got)
	}
}

// The application's session already waits for the cluster, by wsrep_sync_wait = 15. Load must
// not change this setting.
func TestSynchronousSessionOnGalera(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.MariaDB)
	if db.Exec("SELECT @@SESSION.wsrep_sync_wait").Error != nil {
		t.Skip("this server knows nothing of Galera")
	}
	var statements galeraStatements
	db = open(t, mysqlWith(func(c *mysql.Config) { c.DSNConfig.Params = map[string]string{"wsrep_sync_wait": "15"} })(t, db)) // all bits
	store := newStore(proxied(t, db, &proxy{rewrite: statements.rewrite}))
	load(t, store)
	statements.take()
	load(t, store)
	if got := statements.take(); len(got) != 2 || strings.Contains(strings.Join(got, ""), "SET") {
		t.Errorf("Load has sent %q, want the question for the setting and the read", got)
	}
}

// Load reads, raises and restores wsrep_sync_wait, and reads the records in between. Each of
// these statements fails once. Except for the statement that restores the setting, Load must
// return the error. In all cases the application must get no connection on which
// wsrep_sync_wait is changed, so the store closes the connection if it cannot restore the
// setting.
func TestSynchronousSettingFails(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.MariaDB)
	if db.Exec("SELECT @@SESSION.wsrep_sync_wait").Error != nil {
		t.Skip("this server knows nothing of Galera")
	}
	var statements galeraStatements
	p := &proxy{rewrite: statements.rewrite}
	storeDB := proxied(t, db, p)
	limitPool(t, storeDB, 1)
	store := newStore(storeDB)
	swap(t, store, 1, lease.Record{}, first, true)
	for n := 4; n <= 8; n++ { // after the statements that inspect the connection
		fails := n < 8 // the statements read the setting, set it, read in two steps, and restore it
		p.failNth(n)
		records, err := store.Load(within(t, patience))
		if fails && !errors.Is(err, errInjected) || !fails && (err != nil || records[1] != first) {
			t.Errorf("statement %d fails: Load = %v, %v, want an error: %t", n, records, err, fails)
		}
		var wait int
		if err := storeDB.Raw("SELECT @@SESSION.wsrep_sync_wait").Scan(&wait).Error; err != nil || wait != 0 {
			t.Errorf("statement %d failed: the application has wsrep_sync_wait = %d, %v, want 0", n, wait, err)
		}
	}
}

// On a server that is not in a cluster, Load must send only the statement that reads the
// records.
func TestSynchronousOnOneServer(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		var statements galeraStatements
		p := &proxy{rewrite: func(statement string) string { statements.rewrite(statement); return statement }}
		store := newStore(proxied(t, db, p))
		swap(t, store, 1, lease.Record{}, first, true)
		statements.take()
		load(t, store)
		if got := statements.take(); len(got) != 1 {
			t.Errorf("Load has sent %q, want the read alone", got)
		}
	})
}

// laggingNode returns a test with a node that stops applying the writes of other nodes. The
// store must wait until the node continues. If it returned the old record, the lease would
// conclude that the store has forgotten.
func laggingNode(nodes []*testserver.Server) func(t *testing.T) {
	return func(t *testing.T) {
		there, here := galeraStore(t, nodes[0]), galeraStore(t, nodes[1]) // here will lag
		swap(t, there, 1, lease.Record{}, first, true)
		load(t, here)
		resume := stopApplying(t, nodes[1])
		swap(t, there, 1, first, second, true)
		done := make(chan struct{})
		time.AfterFunc(500*time.Millisecond, func() { defer close(done); resume() })
		defer func() { <-done }()
		if got := load(t, here)[1]; got != second {
			t.Errorf("a node that lags shows %+v, want %+v", got, second)
		}
	}
}

// galeraStore returns a store on the node.
func galeraStore(t *testing.T, node *testserver.Server) lease.Store {
	t.Helper()
	return newStore(galeraDB(t, node), sqllease.WithNamespace(t.Name()))
}

// galeraDB opens the database of the node.
func galeraDB(t *testing.T, node *testserver.Server) *gorm.DB {
	t.Helper()
	db, err := openQuietly(node.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { poolOf(t, db).Close() })
	return db
}

// stopApplying makes a node stop applying writes until resume is called, without slowing
// the other nodes down.
func stopApplying(t *testing.T, node *testserver.Server) (resume func()) {
	t.Helper()
	conn, err := poolOf(t, galeraDB(t, node)).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"SET GLOBAL wsrep_desync = ON", "FLUSH TABLES WITH READ LOCK"} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return func() {
		for _, statement := range []string{"UNLOCK TABLES", "SET GLOBAL wsrep_desync = OFF"} {
			if _, err := conn.ExecContext(context.Background(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		_ = conn.Close()
	}
}
