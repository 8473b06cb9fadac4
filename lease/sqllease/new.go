package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// New returns a store in the database that db was opened on, for any number of leases
// at once. New does not connect. The first call of the store connects, creates the
// table if it does not exist, and checks the table and the database's settings. If one of
// these steps fails, the next call repeats all of them.
//
// If db or opts are invalid, every call returns the error. db must not be nil or a
// transaction. Its dialect must be sqlite, mysql or postgres. The store need not be
// closed, but db's pool must stay open.
func New(db *gorm.DB, opts ...Option) lease.Store {
	if err := checkOpened(db); err != nil {
		return failingStore{err}
	}
	return newStore(db.Dialector.Name(), opts, func() (*sql.DB, error) { return poolOf(db) })
}

// NewDB returns the same store as [New], for programs without GORM. The dialect is sqlite,
// mysql (also for MariaDB) or postgres. db is a pool of any driver whose errors contain the
// server's codes, such as pgx's stdlib, lib/pq, go-sql-driver/mysql, mattn/go-sqlite3 and
// modernc.org/sqlite. db may be nil if [WithPool] sets a pool.
func NewDB(db *sql.DB, dialect string, opts ...Option) lease.Store {
	return newStore(dialect, opts, func() (*sql.DB, error) {
		if db == nil {
			return nil, errors.New("sqllease: db is nil: want what sql.Open returned")
		}
		return db, nil
	})
}

// newStore returns a store for the dialect of that name, "sqlite", "mysql" or "postgres".
// It calls pool, which returns the pool of the caller's handle, only if WithPool has not
// set another pool. Its callers have no error result, so after an error it returns a
// store whose calls all return this error.
func newStore(dialect string, opts []Option, pool func() (*sql.DB, error)) lease.Store {
	cfg, err := configure(opts)
	if err == nil && cfg.pool == nil {
		cfg.pool, err = pool()
	}
	if err != nil {
		return failingStore{err}
	}
	d, err := dialectOf(dialect)
	if err != nil {
		return failingStore{err}
	}
	s := &shared{
		config:       cfg,
		table:        d.parseTable(cfg.table),
		gate:         make(chan struct{}, 1),
		Turns:        stores.NewTurns(),
		lastFindings: map[string][]finding{},
	}
	s.chosen.Store(d)
	return withClock(&store{shared: s})
}

// checkOpened returns an error if db is not a handle that gorm.Open has returned.
func checkOpened(db *gorm.DB) error {
	if db == nil || db.Config == nil || db.Dialector == nil {
		return errors.New("sqllease: db is nil or was not opened: want the handle that gorm.Open returned")
	}
	if isTransaction(db.Config.ConnPool) || db.Statement != nil && isTransaction(db.Statement.ConnPool) {
		return errors.New("sqllease: db is a transaction, and a worker taken in it would be free again after a rollback: pass the handle that gorm.Open returned")
	}
	return nil
}

// poolOf returns the pool that db was opened with, also if GORM has wrapped it, for example
// to prepare statements. It ignores the pool in db's statement, which can be a replica
// after dbresolver.Read, or a random source after dbresolver.Write.
func poolOf(db *gorm.DB) (*sql.DB, error) {
	pool, _ := db.Config.ConnPool.(*sql.DB)
	if connector, ok := db.Config.ConnPool.(gorm.GetDBConnector); ok { // for example *gorm.PreparedStmtDB
		var err error
		if pool, err = connector.GetDBConn(); err != nil {
			return nil, fmt.Errorf("sqllease: the pool of db: %w", err)
		}
	}
	if pool != nil {
		return pool, nil
	}
	return nil, fmt.Errorf("sqllease: the pool of db is a %T: want a *sql.DB or a gorm.GetDBConnector that returns one", db.Config.ConnPool)
}

// isTransaction reports whether the pool of a GORM handle is in fact a transaction, which
// GORM puts in the pool's place after Begin. A transaction has the method Commit of
// [gorm.TxCommitter], and a pool has no such method.
func isTransaction(pool gorm.ConnPool) bool {
	_, ok := pool.(gorm.TxCommitter)
	return ok
}

// A failingStore is a store whose calls all return err, an error about the arguments of
// New, because New itself does not return an error.
type failingStore struct{ err error }

func (r failingStore) Load(context.Context) (map[int]lease.Record, error) { return nil, r.err }

func (r failingStore) CompareAndSwap(context.Context, int, lease.Record, lease.Record) (bool, error) {
	return false, r.err
}
