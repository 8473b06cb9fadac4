package sqllease_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// The store keeps its contract behind PgBouncer in transaction mode, in which each
// transaction of a client may use another connection to the server.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	bouncer := testserver.PgBouncer(t, server, "default_pool_size = 3")
	for _, mode := range []string{"simple_protocol", "exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			conformBehind(t, bouncer, mode)
		})
	}
}

// conformBehind runs the suite behind PgBouncer. Then it writes alternately over one
// connection of the client, and over any connection of the client's pool.
func conformBehind(t *testing.T, bouncer *testserver.Server, mode string) {
	t.Helper()
	leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
		return newStore(behindPooler(t, bouncer, mode), sqllease.WithNamespace(namespace))
	})
	store := newStore(behindPooler(t, bouncer, mode), sqllease.WithNamespace(mode))
	connected := connect(t, store)
	swap(t, connected, 1, lease.Record{}, first, true)
	swap(t, store, 1, first, second, true)
	swap(t, connected, 1, second, third, true)
	wantNow(t, connected)
}

// behindPooler opens the database behind PgBouncer with this mode of pgx.
func behindPooler(t *testing.T, bouncer *testserver.Server, mode string) *gorm.DB {
	t.Helper()
	return open(t, postgres.Open(bouncer.URL()+"&default_query_exec_mode="+mode))
}

// Without max_prepared_statements, pgx's default mode fails behind PgBouncer, because a
// statement that one client has prepared exists, or is missing, for another client. The error
// of the store must contain the two ways to avoid this.
func TestPgBouncerPreparedStatements(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	bouncer := testserver.PgBouncer(t, server, "default_pool_size = 1", maxPrepared(t, server, 0))
	swap(t, newStore(behindPooler(t, bouncer, "cache_statement")), 1, lease.Record{}, first, true)
	_, err := newStore(behindPooler(t, bouncer, "cache_statement")).Load(within(t, patience))
	const want = "; behind a pooler in transaction mode, such as PgBouncer, add default_query_exec_mode=exec to the DSN, or set the pooler's max_prepared_statements"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Load: %v, want a hint", err)
	}
}

// With max_prepared_statements, every mode of pgx works.
func TestPgBouncerMaxPreparedStatements(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	setting := maxPrepared(t, server, 100)
	if setting == "" {
		t.Skip("PgBouncer is older than 1.21, the first to keep prepared statements in transaction mode")
	}
	conformBehind(t, testserver.PgBouncer(t, server, "default_pool_size = 3", setting), "cache_statement")
}

// maxPrepared returns the line of pgbouncer.ini that sets max_prepared_statements to n, or ""
// if PgBouncer is older than 1.21 and does not have this setting.
func maxPrepared(t *testing.T, server *testserver.Server, n int) string {
	t.Helper()
	url := strings.Replace(testserver.PgBouncer(t, server).URL(), "/postgres?", "/pgbouncer?", 1)
	pool, err := sql.Open("pgx", url+"&default_query_exec_mode=simple_protocol") // GORM would ping
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var version string
	if err := pool.QueryRowContext(t.Context(), "SHOW VERSION").Scan(&version); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "PgBouncer %d.%d", &major, &minor); err != nil {
		t.Fatalf("version %q: %v", version, err)
	}
	if major == 1 && minor < 21 {
		return ""
	}
	return fmt.Sprintf("max_prepared_statements = %d", n)
}
