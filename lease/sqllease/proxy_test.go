package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// A proxy stands between a pool and the real database, and may change statements and
// answers.
type proxy struct {
	driver.Connector

	mu sync.Mutex
	// rewrite returns the statement to send in place of each statement. Nil sends the
	// statement itself.
	rewrite func(statement string) string
	// refuse is called before each execution and may return an error for it. Nil lets all
	// executions pass.
	refuse func(ctx context.Context, statement string) error
	// lostServer is called before each statement. It may return an error with which the
	// server of the nth connection, counted from 1, refuses the statement. Nil lets all
	// statements pass.
	lostServer func(connection int) error
	// write replaces the execution of the next INSERT or UPDATE, and commit that of the
	// next COMMIT.
	write, commit interception

	connections int

	// refuseDial is the error of each attempt to open a connection. If it is nil, the attempts
	// pass.
	refuseDial error
	dials      int // the number of such attempts
}

// proxied opens the database of db through p.
func proxied(t *testing.T, db *gorm.DB, p *proxy) *gorm.DB {
	t.Helper()
	switch d := db.Dialector.(type) {
	case *sqlite.Dialector:
		// Two copies of SQLite in one process break each other's locks.
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		p.Connector = namedConnector{pool.Driver(), d.DSN}
		return open(t, sqlite.New(sqlite.Config{Conn: sql.OpenDB(p)}))
	case *mysql.Dialector:
		connector, err := mysqldriver.NewConnector(d.DSNConfig)
		if err != nil {
			t.Fatal(err)
		}
		p.Connector = connector
		return open(t, mysql.New(mysql.Config{Conn: sql.OpenDB(p)}))
	case *postgres.Dialector:
		config, err := pgx.ParseConfig(testdb.PostgresURL(t, db))
		if err != nil {
			t.Fatal(err)
		}
		p.Connector = stdlib.GetConnector(*config)
		return open(t, postgres.New(postgres.Config{Conn: sql.OpenDB(p)}))
	}
	t.Fatalf("no proxy for %T", db.Dialector)
	return nil
}

// A namedConnector opens connections of a driver by the name of a database.
type namedConnector struct {
	driver driver.Driver
	name   string
}

func (c namedConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c namedConnector) Driver() driver.Driver                        { return c.driver }

func (p *proxy) Connect(ctx context.Context) (driver.Conn, error) {
	if err := p.dial(); err != nil {
		return nil, err
	}
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connections++
	return &proxyConn{conn, p, p.connections}, nil
}

// dial counts an attempt to open a connection, and returns refuseDial, the error with which
// the attempt is to fail, or nil.
func (p *proxy) dial() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials++
	return p.refuseDial
}

// refuseDials makes each further attempt to open a connection fail with err.
func (p *proxy) refuseDials(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuseDial, p.dials = err, 0
}

// loseServers sets the function lostServer, which chooses the error with which the server
// of a connection refuses statements.
func (p *proxy) loseServers(away func(connection int) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lostServer = away
}

// refusal returns the error with which the server of this connection refuses statements.
func (p *proxy) refusal(connection int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lostServer == nil {
		return nil
	}
	return p.lostServer(connection)
}

// onWrite sets the interception of only the next INSERT or UPDATE.
func (p *proxy) onWrite(write interception) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write = write
}

// onCommit sets the interception of only the next COMMIT.
func (p *proxy) onCommit(commit interception) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commit = commit
}

// takeInterception returns the interception for the statement, or nil. It removes the
// interception, so that it applies once.
func (p *proxy) takeInterception(statement string) (on interception) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.Contains(statement, "INSERT"), strings.Contains(statement, "UPDATE"):
		on, p.write = p.write, nil
	case statement == "COMMIT":
		on, p.commit = p.commit, nil
	}
	return on
}

// A proxyConn is a connection through the proxy. The number counts connections from 1.
type proxyConn struct {
	driver.Conn
	proxy  *proxy
	number int
}

// rewritten returns the statement that the proxy sends instead.
func (c *proxyConn) rewritten(statement string) string {
	if c.proxy.rewrite == nil {
		return statement
	}
	return c.proxy.rewrite(statement)
}

func (c *proxyConn) PrepareContext(ctx context.Context, statement string) (driver.Stmt, error) {
	if err := c.proxy.refusal(c.number); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, c.rewritten(statement))
}

func (c *proxyConn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.proxy.refusal(c.number); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, c.rewritten(statement), args)
}

func (c *proxyConn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.proxy.refusal(c.number); err != nil {
		return nil, err
	}
	statement = c.rewritten(statement)
	if c.proxy.refuse != nil {
		if err := c.proxy.refuse(ctx, statement); err != nil {
			return nil, err
		}
	}
	execute := func() (driver.Result, error) {
		return c.execute(ctx, statement, args)
	}
	if on := c.proxy.takeInterception(statement); on != nil {
		return on(execute)
	}
	return execute()
}

// execute executes the statement. It prepares the statement first if the driver cannot
// send arguments otherwise.
func (c *proxyConn) execute(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
	if !errors.Is(err, driver.ErrSkip) {
		return result, err
	}
	prepared, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	return prepared.(driver.StmtExecContext).ExecContext(ctx, args)
}
