package testdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// ErrFault is the error of an injected fault.
var ErrFault = errors.New("injected fault")

// Fault is a fault that is injected into a statement.
type Fault string

// The faults.
const (
	Refused    Fault = "refused"    // the statement is not sent
	Unreadable Fault = "unreadable" // the values of its first row have a type that no program can read
	CutOff     Fault = "cut off"    // the connection is lost after its first row
)

// Faults injects a fault into a statement of a pool.
type Faults struct {
	mu         sync.Mutex
	fault      Fault
	nth, count int  // number of the statement that has the fault, and of the last statement
	injected   bool // whether the fault has occurred
}

// Faulty opens the database of db once more, with a pool into whose statements the
// returned Faults injects faults.
func Faulty(t testing.TB, db *gorm.DB) (*gorm.DB, *Faults) {
	t.Helper()
	f := &Faults{}
	open := func(inner driver.Connector) *sql.DB { return sql.OpenDB(faultyConnector{inner, f}) }
	switch d := db.Dialector.(type) {
	case *postgres.Dialector:
		config, err := pgx.ParseConfig(d.DSN)
		if err != nil {
			t.Fatal(err)
		}
		return OpenWith(t, postgres.New(postgres.Config{Conn: open(stdlib.GetConnector(*config))})), f
	case *mysql.Dialector:
		connector, err := mysqldriver.NewConnector(d.DSNConfig)
		if err != nil {
			t.Fatal(err)
		}
		return OpenWith(t, mysql.New(mysql.Config{Conn: open(connector)})), f
	case *sqlite.Dialector:
		// Two copies of SQLite in one process break each other's locks, so this uses the
		// same driver.
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		return OpenWith(t, sqlite.New(sqlite.Config{Conn: open(dsnConnector{pool.Driver(), d.DSN})})), f
	}
	t.Fatalf("testdb: no faults for %T", db.Dialector)
	return nil, nil
}

// Inject makes the fault occur in the nth statement from now on, counted from 1. The
// begin and the end of a transaction count as statements.
func (f *Faults) Inject(fault Fault, nth int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.nth, f.count, f.injected = fault, nth, 0, false
}

// Injected reports whether the fault has occurred. All faults except Refused occur only
// if the statement returns a row.
func (f *Faults) Injected() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

// Reached reports whether the pool has received the nth statement.
func (f *Faults) Reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count >= f.nth
}

// nextFault counts a statement. It returns ErrFault if the statement is to be refused. In all
// other cases it returns the fault that is to occur when the rows of the statement are read, or
// "" if none is.
func (f *Faults) nextFault() (Fault, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	switch {
	case f.count != f.nth:
		return "", nil
	case f.fault == Refused:
		f.injected = true
		return "", ErrFault
	}
	return f.fault, nil
}

// markInjected records that the fault occurs now.
func (f *Faults) markInjected() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injected = true
}

// dsnConnector connects to a database by the driver and the database's name, for drivers
// without a connector.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// faultyConnector opens connections with faults.
type faultyConnector struct {
	driver.Connector
	faults *Faults
}

func (c faultyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return &faultyConn{conn, c.faults}, err
}

// faultyConn is a connection whose statements have the faults. It has only the methods of
// the driver's connection that a statement needs.
type faultyConn struct {
	driver.Conn
	faults *Faults
}

// CheckNamedValue lets the driver convert an argument, if it can.
func (c *faultyConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// BeginTx begins a transaction unless BEGIN is refused.
func (c *faultyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if _, err := c.faults.nextFault(); err != nil {
		return nil, err
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return faultyTx{tx, c.faults}, err
}

// ExecContext runs a statement unless it is refused. It prepares the statement if the driver
// cannot run it directly.
func (c *faultyConn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if _, err := c.faults.nextFault(); err != nil {
		return nil, err
	}
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
	if !errors.Is(err, driver.ErrSkip) {
		return result, err
	}
	prepared, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = prepared.Close() }()
	return prepared.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext runs a query unless it is refused. The faults Unreadable and CutOff occur later,
// when the rows are read.
func (c *faultyConn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	fault, err := c.faults.nextFault()
	if err != nil {
		return nil, err
	}
	rows, err := c.query(ctx, statement, args)
	if err != nil || fault == "" {
		return rows, err
	}
	return &faultyRows{Rows: rows, faults: c.faults, fault: fault}, nil
}

// query runs a query. Like package database/sql, it prepares the statement if the driver
// cannot run it directly, as MySQL's driver if there are arguments.
func (c *faultyConn) query(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, statement, args)
	if !errors.Is(err, driver.ErrSkip) {
		return rows, err
	}
	prepared, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	rows, err = prepared.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, prepared.Close())
	}
	return preparedRows{rows, prepared}, nil
}

// faultyTx is a transaction whose end has the faults.
type faultyTx struct {
	driver.Tx
	faults *Faults
}

// Commit rolls the transaction back if it is refused, so that it does not stay open.
func (t faultyTx) Commit() error {
	if _, err := t.faults.nextFault(); err != nil {
		return errors.Join(err, t.Tx.Rollback())
	}
	return t.Tx.Commit()
}

// preparedRows closes the statement that returned the rows.
type preparedRows struct {
	driver.Rows
	statement driver.Stmt
}

func (r preparedRows) Close() error { return errors.Join(r.Rows.Close(), r.statement.Close()) }

// faultyRows are rows of which the first is unreadable, or after whose first row the
// connection is lost.
type faultyRows struct {
	driver.Rows
	faults    *Faults
	fault     Fault
	firstRead bool
}

// Next makes the first row unreadable, or fails after the first row.
func (r *faultyRows) Next(dest []driver.Value) error {
	if r.firstRead && r.fault == CutOff {
		r.faults.markInjected()
		return ErrFault
	}
	err := r.Rows.Next(dest)
	if err == nil && !r.firstRead && r.fault == Unreadable {
		r.faults.markInjected()
		for i := range dest {
			dest[i] = r // a type that cannot be scanned
		}
	}
	r.firstRead = r.firstRead || err == nil
	return err
}
