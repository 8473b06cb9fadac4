package postgres_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A pgWire is the network between a program and its server. It loses every request to
// cancel a statement, as happens when a program exits, because pgx sends the request only
// after the call has returned.
type pgWire struct {
	mu    sync.Mutex
	conns []*pgWireConn
}

// A pgWireConn is a connection over a pgWire. If silent is set, it drops all data of the
// client.
type pgWireConn struct {
	net.Conn
	silent atomic.Bool
}

// dial connects to the server over the wire.
func (w *pgWire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &pgWireConn{Conn: conn}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	return c, nil
}

// pgCancelRequest is the number that a cancel request contains in place of the protocol
// version.
const pgCancelRequest = 80877102

// Write sends data to the server, unless it is a cancel request, which has 16 bytes and a
// fixed number, or the connection is silent.
func (c *pgWireConn) Write(b []byte) (int, error) {
	if len(b) == 16 && binary.BigEndian.Uint32(b[4:]) == pgCancelRequest {
		return 0, errors.New("lost")
	}
	if c.silent.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// cut makes all present connections fail for the client, by a read deadline in the past. The
// connections stay open, so the server does not notice.
func (w *pgWire) cut() {
	w.each(func(c *pgWireConn) { _ = c.SetReadDeadline(time.Unix(1, 0)) })
}

// silence loses all data that the client sends from now on, without an error.
func (w *pgWire) silence() {
	w.each(func(c *pgWireConn) { c.silent.Store(true) })
}

// each calls f for each connection.
func (w *pgWire) each(f func(*pgWireConn)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		f(c)
	}
}

// open returns a pool whose connections use the wire.
func (w *pgWire) open(t *testing.T, url string) (*gorm.DB, *sql.DB) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = w.dial
	pool := stdlib.OpenDB(*config)
	t.Cleanup(func() { pool.Close() })
	return pgOver(t, pool), pool
}

// pgOver returns a GORM database over a pool or a single connection.
func pgOver(t *testing.T, pool gorm.ConnPool) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// If Apply or Revert returns because its context was canceled or its connection was lost, none
// of its statements may still wait for a lock on the server, where it would block later
// sessions. Each case ends the call while a statement of it waits for a lock.
//
// The field user is the user who logs in, and settings are added to the URL. conns limits the
// connections of the pool (0 is no limit). If broken is true, the test cuts the connection
// instead of canceling the context. In one case the connections set the role owning, which may
// not end the sessions of the user cancelling, who has logged in.
func postgresCancelled(t *testing.T, server *migratetest.PgServer) {
	migratetest.Run(t, server.Admin, "CREATE ROLE cancelling LOGIN; CREATE ROLE owning; GRANT owning TO cancelling")
	apply := func(ctx context.Context, plan *sqlmigrate.Plan, db *gorm.DB) error { return plan.Apply(ctx, db) }
	for _, test := range []struct {
		name     string
		user     string
		settings string
		conns    int
		broken   bool
		apply    func(context.Context, *sqlmigrate.Plan, *gorm.DB) error
	}{
		{"context", "postgres", "", 0, false, apply},
		{"context of the only connection", "postgres", "", 1, false, apply},
		{"connection", "postgres", "", 0, true, apply},
		{"the only connection", "postgres", "", 1, true, apply},
		{"role without rights on the user", "cancelling", "&role=owning", 1, false, apply},
		{"connection of the caller", "postgres", "", 1, false, func(ctx context.Context, plan *sqlmigrate.Plan, db *gorm.DB) error {
			return db.Connection(func(tx *gorm.DB) error { return plan.Apply(ctx, tx) })
		}},
		{"revert", "postgres", "", 0, false, func(ctx context.Context, plan *sqlmigrate.Plan, db *gorm.DB) error {
			return plan.Revert(ctx, db, sqlmigrate.WithPhases(sqlmigrate.Detach))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "GRANT CREATE ON SCHEMA public TO owning; SET ROLE owning;"+migratetest.PgShop+"RESET ROLE")
			var wire pgWire
			db, pool := wire.open(t, strings.Replace(d.URL, "postgres@", test.user+"@", 1)+test.settings)
			pool.SetMaxOpenConns(test.conns)
			plan := d.Inspect(t, "users", "orders")
			before := d.Dump(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := cancel
			if test.broken {
				end = wire.cut
			}
			// waiting is the number of sessions that still wait after Apply has returned.
			waiting, err := d.Waits(t, end, func() error { return test.apply(ctx, plan, db) })
			if err == nil || !test.broken && !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "pg_terminate_backend") {
				t.Errorf("error %v, want its context's, or its connection's, alone", err)
			}
			if waiting != "0" {
				t.Errorf("%s wait after Apply has returned, want none", waiting)
			}
			migratetest.PgSame(t, "afterwards", d.Dump(t), before)
			if got := d.Value(t, "SELECT count(*) FROM users"); got != "2" {
				t.Errorf("%s rows", got)
			}
			if err := plan.Apply(t.Context(), db); err != nil {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// If Apply gets a single connection instead of a pool, it has no other connection to end
// a statement that waits for a lock, and its error says so. Between two statements no
// statement waits, so the error is the context's alone.
func postgresOneConnection(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	var wire pgWire
	_, pool := wire.open(t, d.URL)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan := d.Inspect(t, "users", "orders")
	// Cancel between two statements, and then while a statement waits for a lock.
	between, cancelBetween := context.WithCancel(t.Context())
	err = plan.Apply(between, pgOver(t, conn), sqlmigrate.WithProgress(func(sqlmigrate.Progress) { cancelBetween() }))
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "pg_terminate_backend") {
		t.Fatalf("error %v, want its context's alone", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = d.Waits(t, cancel, func() error { return plan.Apply(ctx, pgOver(t, conn)) })
	migratetest.WantError(t, err, "the statement may still be running and blocking others", "stop it with: SELECT pg_terminate_backend(", "there is no other to stop it from")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// After the first statement of a phase, the network loses all further messages on the present
// connection, also the ROLLBACK. The server must have released the session's locks when Apply
// returns.
func postgresSilence(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	var wire pgWire
	db, pool := wire.open(t, d.URL)
	pool.SetMaxOpenConns(1)
	plan := d.Inspect(t, "users", "orders")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := plan.Apply(ctx, db, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		if p.Done == 1 {
			wire.silence()
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "pg_terminate_backend") {
		t.Errorf("error %v, want its context's alone", err)
	}
	if got := d.Value(t, "SELECT count(*) FROM pg_locks WHERE relation = 'orders'::regclass"); got != "0" {
		t.Errorf("%s locks after Apply has returned, want none", got)
	}
}

// If the server does not end a session in time, here because its process is stopped, the
// error names the process.
func postgresStuck(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	plan := d.Inspect(t, "users", "orders")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pid string
	signal := func(name string) {
		if out, err := exec.Command("sh", "-c", "kill "+name+" "+pid).CombinedOutput(); err != nil {
			t.Errorf("kill %s %s: %v\n%s", name, pid, err, out)
		}
	}
	_, err := d.Waits(t, func() {
		pid = d.Value(t, strings.Replace(migratetest.PgWaiting, "count(*)", "pid", 1))
		signal("-STOP")
		cancel()
	}, func() error { return plan.Apply(ctx, d.DB) })
	signal("-CONT")
	migratetest.WantError(t, err, "the statement may still be running and blocking others", "stop it with: SELECT pg_terminate_backend("+pid+")", context.DeadlineExceeded.Error())
}
