// Package mysql is the part of package sqlmigrate that is for MySQL and
// MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Engine is for MySQL and MariaDB. They have no transactions for changes of a
// schema, so each statement has a query that returns whether it has been done,
// and a journal in the database keeps what a run that has stopped half-way
// would otherwise have lost: see journal.go.
//
// A narrow key becomes bigint, also if it is unsigned, because that is what
// GORM makes of types.ID and foreign keys want equal types. A key that is
// bigint unsigned stays: it holds every ID, and the change would rewrite the
// table. Unsigned columns that refer to such a key become bigint unsigned.
type Engine struct{}

// Inspect implements [engine.Engine].
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (_ *engine.Result, err error) {
	if err := engine.CheckServer(ctx, conn, "MySQL or MariaDB"); err != nil {
		return nil, err
	}
	session, err := OpenSession(ctx, conn, inspectWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = session.close(err) }()
	in := &inspection{ctx: ctx, conn: conn, want: want, tables: map[engine.TableName]*table{}}
	if err := in.read(); err != nil {
		return nil, err
	}
	return in.plan(), nil
}

// inspection is the schema as far as it has been read.
type inspection struct {
	ctx  context.Context
	conn *sql.Conn
	want engine.Request

	database string
	mariadb  bool
	journal  *journal                    // nil: there is none
	pairs    []pair                      // all tables that refer to one
	tables   map[engine.TableName]*table // by their normal names
	moved    []*column                   // keys that were asked for, and all columns connected with them
	resumed  []*column                   // the columns of an unfinished run, likewise
	foreign  []foreignKey                // dropped, once it has been asked for
	blockers []engine.Blocker
	notes    []string
}

func (in *inspection) read() error {
	for _, step := range []func() error{
		in.readServer, in.readJournal, in.readPairs, in.readWanted, in.readUnfinished,
		in.readKeys, in.findBlockers,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (in *inspection) readServer() error {
	var database sql.NullString
	var quoted bool
	err := in.conn.QueryRowContext(in.ctx, "SELECT DATABASE(), VERSION() LIKE '%MariaDB%', @@SESSION.sql_quote_show_create").
		Scan(&database, &in.mariadb, &quoted)
	if err != nil {
		return fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if database.String == "" {
		return errors.New("sqlmigrate: the connection has no current database: name one in the DSN")
	}
	if !quoted {
		return errors.New("sqlmigrate: sql_quote_show_create is off, which makes definitions ambiguous: set it to 1")
	}
	in.database = database.String
	return nil
}

// normal leaves out the schema of a table in the current database, so that what
// is planned here can be carried out in a database of another name.
func (in *inspection) normal(t engine.TableName) engine.TableName {
	if t.Schema == in.database {
		t.Schema = ""
	}
	return t
}

func (in *inspection) note(format string, args ...any) {
	in.notes = append(in.notes, fmt.Sprintf(format, args...))
}

func (in *inspection) block(t *table, object, reason, fix string) {
	in.blockers = append(in.blockers, engine.Blocker{Table: t.name.String(), Object: object, Reason: reason, Fix: fix})
}
