package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A dialect holds the SQL and the behavior in which the databases differ. In its SQL,
// %s is the quoted table.
type dialect struct {
	name    string // as GORM's dialector names it
	quote   string
	text    string // type of a text column of %d characters that compares byte by byte
	options string // end of CREATE TABLE

	insert string
	update string
	load   string // returns a row even if there is no record

	// begin starts the transaction of a write, which ends with COMMIT. If it is empty,
	// each statement is a transaction of its own.
	begin string

	// get is load for given keys, which are one text separated by commas. If it is
	// empty, the store uses load with a condition on the keys.
	get string

	// now is an expression for the server's time in Unix microseconds. It is empty if
	// the database has no clock but that of the process.
	now string

	// standby is an expression that is true if the answering server may lag behind
	// another server. It is empty if no server of this database does.
	standby string

	// primary describes, for errors, how to reach a server that does not lag.
	primary string

	// silence says, for errors, why an answer may be missing and how to fix that.
	silence string

	// untried says, for errors, in which setup leases were not tested. It is empty if
	// they were tested in every setup.
	untried string

	classify func(err error) kind

	// denied is the kind of a "permission denied" error at first use.
	denied kind

	// inspect returns the state of a connection. If table is empty it inspects only the
	// session.
	inspect func(ctx context.Context, on asker, table table) (session, error)

	// rollBack is a statement that ends a transaction which a program has left open. If
	// it is empty, the store closes the connection instead.
	rollBack string

	// shape reads the catalog. It uses only the parts that every user who may read the
	// table can see.
	shape func(ctx context.Context, conn *sql.Conn, table table) (shape, error)

	// addKey returns SQL that adds the unique key. alter is SQL that gives a column its
	// type and NOT NULL. Its arguments are the table, the column, the type, and the
	// type without a collation. It is empty if the database has no such statement.
	addKey func(*dialect, table) string
	alter  string

	// stray returns two schemas: here, in which a statement without a schema would
	// create the table, and other, which already has a table of this name with records.
	// other is empty if there is no such table, or if the session's choice of a schema
	// can be trusted. stray is nil if an unqualified name cannot lead to different
	// schemas.
	stray func(ctx context.Context, d *dialect, on execer, name string) (here, other string, err error)

	// renameQualified reports whether RENAME TO needs the schema in the new name.
	renameQualified bool
}

// A kind is the meaning of an error for the statement.
type kind int

const (
	unknown   kind = iota // the statement may have been applied
	missing               // not applied: the table does not exist, or the user may not know that it does
	denied                // not applied: the session's user or role lacks the right
	duplicate             // not applied: a row with that key exists
	conflict              // not applied; another try may succeed
	elsewhere             // not applied by this server; a try over a new connection may succeed
)

// A table is the name of a table, with or without a schema.
type table struct {
	schema, name string
	quoted       string
}

const (
	probeSQL = "SELECT namespace, worker_id, bound, owner FROM %s WHERE 1 = 0"

	loadSQL = selectSQL + "%s ON namespace = "

	selectSQL = `SELECT worker_id, bound, owner, server.standby, server.clock
FROM (SELECT %s AS standby, %s AS clock) AS server LEFT JOIN `

	insertSQL = "INSERT INTO %s (namespace, worker_id, bound, owner) VALUES (?, ?, ?, ?)"
	updateSQL = "UPDATE %s SET bound = ?, owner = ? WHERE namespace = ? AND worker_id = ? AND bound = ? AND owner = ?"
)

func dialectOf(name string) (*dialect, error) {
	for _, d := range []*dialect{sqliteDialect, mysqlDialect, postgresDialect} {
		if d.name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("sqllease: dialect %q is not supported: want sqlite, mysql or postgres", name)
}

// DDL returns the statement that creates the table, for people who do not let their
// applications create it. The dialect is "sqlite", "mysql" or "postgres". Of opts only
// [WithTable] has an effect. If the table exists, the store needs only the rights to
// SELECT, INSERT and UPDATE its rows.
func DDL(dialect string, opts ...Option) (string, error) {
	d, err := dialectOf(dialect)
	if err != nil {
		return "", err
	}
	cfg, err := configure(opts)
	if err != nil {
		return "", err
	}
	return d.create(d.table(cfg.table)), nil
}

func (d *dialect) create(t table) string {
	return fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
  namespace %s NOT NULL,
  worker_id %s NOT NULL,
  bound %s NOT NULL,
  owner %s NOT NULL,
  PRIMARY KEY (namespace, worker_id)
)%s;
`, t.quoted, d.typeOf("namespace"), d.typeOf("worker_id"), d.typeOf("bound"), d.typeOf("owner"), d.options)
}

func (d *dialect) typeOf(column string) string {
	switch column {
	case "namespace":
		return fmt.Sprintf(d.text, maxNamespace)
	case "owner":
		return fmt.Sprintf(d.text, maxOwner)
	case "bound":
		return "BIGINT"
	}
	return "INTEGER"
}

func (d *dialect) table(name string) table {
	dot := strings.IndexByte(name, '.')
	return d.qualified(name[:max(0, dot)], name[dot+1:])
}

// qualified returns the table with that name in the schema, or without a schema if that
// is empty.
func (d *dialect) qualified(schema, name string) table {
	quote := func(s string) string { return d.quote + strings.ReplaceAll(s, d.quote, d.quote+d.quote) + d.quote }
	if schema == "" {
		return table{name: name, quoted: quote(name)}
	}
	return table{schema, name, quote(schema) + "." + quote(name)}
}

// reads completes a statement that reads records, with the dialect's standby and clock
// expressions and the table.
func (d *dialect) reads(format string, t table) string {
	return fmt.Sprintf(format, cmp.Or(d.standby, "0"), cmp.Or(d.now, "NULL"), t.quoted)
}
