package plugintest

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"gorm.io/gorm"
)

// ErrInjected is the error that injected faults return.
var ErrInjected = errors.New("injected")

// Faults makes a statement of a session fail. BEGIN and COMMIT count as statements.
type Faults struct {
	Fail, Seen int  // number of the statement that fails, counted from 1, and number of statements so far
	Late       bool // the server executes the statement that fails, and only its reply is lost
}

// around counts a statement, and executes it by run. If it is the statement that must fail,
// around returns ErrInjected. In that case it calls run only if Late is set, as if the server
// had executed the statement and its reply were lost.
func (f *Faults) around(run func() error) error {
	f.Seen++
	if f.Seen != f.Fail {
		return run()
	}
	if f.Late {
		if err := run(); err != nil {
			return err
		}
	}
	return ErrInjected
}

// faultyConn fails the statements that its faults choose. faultyPool adds BEGIN, and
// faultyTx adds COMMIT and ROLLBACK. They are separate types because GORM recognizes a
// pool and a transaction by their methods.
type faultyConn struct {
	gorm.ConnPool
	faults *Faults
}

// ExecContext runs the statement. If the statement must fail, it returns ErrInjected, and runs
// the statement only if Late is set.
func (p *faultyConn) ExecContext(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = p.faults.around(func() (err error) {
		res, err = p.ConnPool.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// QueryContext runs the query. If the query must fail, it returns ErrInjected, and runs the
// query only if Late is set. It then closes the rows, because the caller does not get them.
func (p *faultyConn) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = p.faults.around(func() (err error) {
		rows, err = p.ConnPool.QueryContext(ctx, query, args...)
		return err
	})
	if err != nil && rows != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return rows, err
}

// faultyPool is a pool whose statements and BEGIN pass through its faults.
type faultyPool struct{ faultyConn }

// BeginTx begins a transaction. If BEGIN must fail, it returns ErrInjected, and begins the
// transaction only if Late is set. It then rolls the transaction back, because the caller does
// not get it.
func (p *faultyPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	var tx *sql.Tx
	err := p.faults.around(func() (err error) {
		tx, err = p.ConnPool.(gorm.TxBeginner).BeginTx(ctx, opts)
		return err
	})
	if err != nil && tx != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	if err != nil {
		return nil, err
	}
	return &faultyTx{faultyConn{tx, p.faults}}, nil
}

// faultyTx is a transaction whose statements and COMMIT pass through its faults.
type faultyTx struct{ faultyConn }

// Commit commits the transaction. If COMMIT must fail, it instead rolls the transaction back, as
// a server does when the connection ends before COMMIT arrives. It does so even if Late is set,
// because no client can undo a commit.
func (tx *faultyTx) Commit() error {
	err := tx.faults.around(func() error { return nil })
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.ConnPool.(gorm.TxCommitter).Commit()
}

func (tx *faultyTx) Rollback() error { return tx.ConnPool.(gorm.TxCommitter).Rollback() }

// WithFaults returns a session of db whose statements pass through f.
func WithFaults(t *testing.T, db *gorm.DB, f *Faults) *gorm.DB {
	t.Helper()
	tx := db.Session(&gorm.Session{NewDB: true, Context: t.Context()})
	pool := &faultyPool{faultyConn{tx.Statement.ConnPool, f}}
	tx.ConnPool = pool
	tx.Statement.ConnPool = pool
	return tx
}
