package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// mysqlEngine is that of MySQL and MariaDB. They have no transactions for
// changes of a schema, so each statement says when it is done already, and a
// journal in the database keeps what a run that has stopped half-way would
// otherwise have lost: see mysql_journal.go.
//
// A narrow key becomes bigint, also if it is unsigned, because that is what
// GORM makes of types.ID and foreign keys want equal types. A key that is
// bigint unsigned stays: it holds every ID, and the change would rewrite the
// table. Unsigned columns that refer to such a key become bigint unsigned.
type mysqlEngine struct{}

func (mysqlEngine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (_ *engine.Result, err error) {
	session, err := mysqlOpenSession(ctx, conn, mysqlInspectWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = session.close(err) }()
	in := &mysqlInspection{ctx: ctx, conn: conn, want: want, tables: map[engine.TableName]*mysqlTable{}}
	if err := in.read(); err != nil {
		return nil, err
	}
	return in.plan(), nil
}

// mysqlInspection is the schema as far as it has been read.
type mysqlInspection struct {
	ctx  context.Context
	conn *sql.Conn
	want engine.Request

	database string
	mariadb  bool
	journal  *mysqlJournal                    // nil: there is none
	pairs    []mysqlPair                      // all tables that refer to one
	tables   map[engine.TableName]*mysqlTable // by their normal names
	moved    []*mysqlColumn                   // keys that were asked for, and all columns connected with them
	resumed  []*mysqlColumn                   // those of an unfinished run, likewise
	blockers []engine.Blocker
	notes    []string
}

func (in *mysqlInspection) read() error {
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

func (in *mysqlInspection) readServer() error {
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
func (in *mysqlInspection) normal(t engine.TableName) engine.TableName {
	if t.Schema == in.database {
		t.Schema = ""
	}
	return t
}

func (in *mysqlInspection) note(format string, args ...any) {
	in.notes = append(in.notes, fmt.Sprintf(format, args...))
}

func (in *mysqlInspection) block(t *mysqlTable, object, reason, mend string) {
	in.blockers = append(in.blockers, engine.Blocker{Table: t.name.String(), Object: object, Reason: reason, Mend: mend})
}
