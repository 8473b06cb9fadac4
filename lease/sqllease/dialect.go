package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A dialect is what differs between the databases. In its SQL, %s is the quoted
// table.
type dialect struct {
	name    string // as GORM's dialector has it
	quote   string
	text    string // the type of a column of %d characters, which compares them byte by byte
	options string // of CREATE TABLE

	insert string
	update string
	load   string // a row also where there is no record

	// begin starts the transaction of a write, which ends with COMMIT. Empty means
	// that a statement is a transaction of its own.
	begin string

	// get is load by keys that are one text, with commas. Empty means load, with a
	// condition.
	get string

	// now is an expression: the server's time in Unix microseconds. It is
	// empty where that is the time of the process.
	now string

	// standby is an expression: whether the server that answers is one that
	// lags behind another. Empty means that none does.
	standby string

	// primary is how to reach the one that does not.
	primary string

	// silence is why an answer may be missing, and what to do about it.
	silence string

	// untried is what leases were not tried with. Empty means that they were.
	untried string

	classify func(err error) kind

	// denied is what a lack of rights means at first use.
	denied kind

	// inspect returns what the connection is found to be. Without a table it looks
	// only at the session.
	inspect func(ctx context.Context, on asker, table table) (session, error)

	// rollBack ends what a program has left open on a connection. Empty means that
	// closing the connection does.
	rollBack string

	// shape reads the catalog, as far as every user can who may read the table.
	shape func(ctx context.Context, conn *sql.Conn, table table) (shape, error)

	// addKey and alter repair a table. Alter gives a column its type and NOT NULL, by
	// the column, the type, and the type without a collation; it is empty where the
	// database has no statement for it.
	addKey func(*dialect, table) string
	alter  string

	// stray returns the schema in which a statement that names no schema would create
	// the table, and another that has a table of this name with records, if the session
	// may have been led astray; other is empty if it has not, or there is none. It is nil
	// where a name leads to one place.
	stray func(ctx context.Context, d *dialect, on execer, name string) (here, other string, err error)

	// renameQualified is set where a table's new name needs its schema.
	renameQualified bool
}

// kind is what an error means for the statement.
type kind int

const (
	unknown   kind = iota // it may have been applied
	missing               // not applied: there is no such table, as far as we may know
	denied                // not applied: the session's user or role may not
	duplicate             // not applied: there is a row with that key
	conflict              // not applied, and worth another try
	elsewhere             // not applied by this server, and worth another try over a new connection
)

// table is a table's name, with the schema or without.
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

// DDL returns the statement that creates the table, for those who do not let
// their applications do it: dialect is "sqlite", "mysql" or "postgres". Of opts
// only [WithTable] matters. Where the table exists, the store needs the rights
// to SELECT, INSERT and UPDATE its rows.
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

// qualified is the table of that name, without a schema if that is empty.
func (d *dialect) qualified(schema, name string) table {
	quote := func(s string) string { return d.quote + strings.ReplaceAll(s, d.quote, d.quote+d.quote) + d.quote }
	if schema == "" {
		return table{name: name, quoted: quote(name)}
	}
	return table{schema, name, quote(schema) + "." + quote(name)}
}

// reads completes one of the dialect's statements that read records.
func (d *dialect) reads(format string, t table) string {
	return fmt.Sprintf(format, cmp.Or(d.standby, "0"), cmp.Or(d.now, "NULL"), t.quoted)
}
