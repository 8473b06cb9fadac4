package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/myonline"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/pgonline"
	"github.com/gormflake/gormflake/sqlmigrate/internal/postgres"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqlite"
)

// checkHandle returns an error if db was not opened, because its methods would panic.
func checkHandle(db *gorm.DB) error {
	if db == nil || db.Config == nil || db.Dialector == nil {
		return errors.New("sqlmigrate: db is nil or was not opened: want the handle that gorm.Open returned")
	}
	return nil
}

// engineFor returns the engine of db's database.
func engineFor(db *gorm.DB) (engine.Engine, error) {
	if err := checkHandle(db); err != nil {
		return nil, err
	}
	return engineOf(db.Dialector.Name())
}

// checkDialect returns an error if db was not opened, or is not a handle of a database of
// dialect want.
func checkDialect(db *gorm.DB, want string) error {
	if err := checkHandle(db); err != nil {
		return err
	}
	if dialect := db.Dialector.Name(); dialect != want {
		return fmt.Errorf("sqlmigrate: the plan is for %s and db is %s: pass the database that was inspected", want, dialect)
	}
	return nil
}

// read calls fn with the connection that [withConn] chooses, and returns the result of
// fn.
func read[T any](ctx context.Context, db *gorm.DB, fn func(*sql.Conn) (T, error)) (T, error) {
	var found T
	err := withConn(ctx, db, func(conn *sql.Conn) (err error) {
		found, err = fn(conn)
		return err
	})
	return found, err
}

// withConn calls fn with one connection. If db is a handle of [gorm.DB.Connection], or
// was opened on one connection, fn gets this connection. Otherwise fn gets a connection
// of db's pool, which withConn returns to the pool.
func withConn(ctx context.Context, db *gorm.DB, fn func(*sql.Conn) error) error {
	conn, pool, err := poolOf(db)
	if err != nil {
		return err
	}
	if conn != nil {
		return fn(conn)
	}
	conn, err = pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("sqlmigrate: get a connection: %w", err)
	}
	return errors.Join(fn(conn), engine.ReturnConn(conn))
}

// poolOf returns the pool that [gorm.Open] was given or, if db is pinned to one connection,
// this connection and no pool. It returns an error if db is a transaction, because a move
// begins and ends transactions of its own.
//
// [gorm.DB.Connection] pins db by putting the connection in the place of the pool of db's
// statement. A statement's pool that is not a connection is ignored, because dbresolver may
// have set it to the pool of a replica.
func poolOf(db *gorm.DB) (*sql.Conn, *sql.DB, error) {
	configured := db.Config.ConnPool
	statementPool := configured
	if db.Statement != nil && db.Statement.ConnPool != nil {
		statementPool = db.Statement.ConnPool
	}
	if isTransaction(configured) || isTransaction(statementPool) {
		return nil, nil, errors.New("sqlmigrate: db is a transaction, and what has to be done around one cannot be done in it: pass the handle that gorm.Open returned")
	}
	for _, pool := range []gorm.ConnPool{statementPool, configured} {
		if prepared, ok := pool.(*gorm.PreparedStmtDB); ok && prepared != nil {
			pool = prepared.ConnPool // GORM wraps the connection to prepare statements
		}
		if conn, ok := pool.(*sql.Conn); ok && conn != nil {
			return conn, nil, nil
		}
	}
	pool, err := unwrap(configured)
	return nil, pool, err
}

// otherConns returns the pool from which a move takes connections besides the one that
// [withConn] has chosen. It returns nil if db was opened on a single connection, for which
// unwrap returns an error.
func otherConns(db *gorm.DB) *sql.DB {
	pool, _ := unwrap(db.Config.ConnPool)
	return pool
}

// unwrap returns the pool in from, which may be the pool itself or a value that contains
// the pool, such as a [gorm.PreparedStmtDB]. It returns an error if from has no pool, for
// example because it is a single connection.
func unwrap(from gorm.ConnPool) (*sql.DB, error) {
	pool, _ := from.(*sql.DB)
	if connector, ok := from.(gorm.GetDBConnector); ok {
		var err error
		if pool, err = connector.GetDBConn(); err != nil {
			return nil, fmt.Errorf("sqlmigrate: the pool of db: %w", err)
		}
	}
	if pool != nil {
		return pool, nil
	}
	return nil, fmt.Errorf("sqlmigrate: the pool of db is a %T: want a *sql.DB, a *sql.Conn, or a gorm.GetDBConnector that returns the former", from)
}

// isTransaction reports whether the pool of a GORM handle is in fact a transaction, with or
// without prepared statements. GORM puts a transaction in the pool's place, and only a
// transaction has the method Commit.
func isTransaction(pool gorm.ConnPool) bool {
	_, ok := pool.(gorm.TxCommitter)
	return ok
}

// engines maps the name of each GORM dialect to its engine, which inspects and changes the
// tables of this kind of database.
var engines = map[string]engine.Engine{
	"mysql":    mysql.Engine{},
	"postgres": postgres.Engine{},
	"sqlite":   sqlite.Engine{},
}

// engineOf returns the engine of a GORM dialect.
func engineOf(dialect string) (engine.Engine, error) {
	e, ok := engines[dialect]
	if !ok {
		return nil, fmt.Errorf("sqlmigrate: dialect %q is not supported: want sqlite, mysql or postgres", dialect)
	}
	return e, nil
}

// onlines maps the names of the dialects that support online moves to their drivers, which
// plan and run such a move.
var onlines = map[string]engine.Online{
	"mysql":    myonline.New(),
	"postgres": pgonline.New(),
}
