package sqllease

import (
	"context"
	"database/sql"
	"strings"
)

// A dialect holds the SQL and the behavior in which the databases differ. In its SQL,
// %s is the quoted table.
type dialect struct {
	name    string // as GORM's dialector names it
	quote   string // encloses an identifier
	text    string // type of a text column of %d characters that compares byte by byte
	options string // end of CREATE TABLE

	insert string // adds a record that does not exist yet
	update string // replaces a record if it has the given bound and owner
	load   string // reads all records; returns a row even if there is no record

	// begin is the statement that starts the transaction of a write, which ends with
	// COMMIT. If it is empty, each statement is a transaction of its own.
	begin string

	// get reads the records of given keys, which are one text separated by commas. If
	// it is empty, the store adds a condition on the keys to load.
	get string

	// now is an expression for the server's time in Unix microseconds. It is empty if
	// the database has no clock but that of the process.
	now string

	// standby is an expression that is true if the answering server may lag behind
	// another server. It is empty if no server of this database can lag.
	standby string

	// primary describes, for errors, how to reach a server that does not lag.
	primary string

	// silence says, for errors, why an answer may be missing and how to fix that.
	silence string

	// untried says, for errors, in which setup leases were not tested. It is empty if
	// they were tested in every setup.
	untried string

	classify func(err error) errorKind

	// deniedAtFirst is the kind of a "permission denied" error at first use, before the
	// store has found the table. Later, such an error is of the kind elsewhere.
	deniedAtFirst errorKind

	// inspect returns the state of a connection. If table is empty it inspects only the
	// session.
	inspect func(ctx context.Context, on timedConn, table tableName) (session, error)

	// rollBack is a statement that ends a transaction which a program has left open. If
	// it is empty, the store closes the connection instead.
	rollBack string

	// shape reads the description of the table from the catalog. It uses only the parts
	// that every user who may read the table can see.
	shape func(ctx context.Context, conn *sql.Conn, table tableName) (shape, error)

	// addKey returns SQL that adds the unique key. alter is SQL that gives a column its
	// type and NOT NULL, for the fix of a Flaw. The arguments %[1]s to %[4]s of alter are
	// the table, the column, the type, and the type without a collation. alter is empty if
	// the database has no such statement.
	addKey func(*dialect, tableName) string
	alter  string

	// otherTable returns two schemas: here, in which a statement without a schema would
	// create the table, and other, which already has a table of this name with records.
	// other is empty if there is no such table, or if the program itself has chosen the
	// session's schema, for example in its DSN. otherTable is nil if an unqualified
	// name cannot lead to different schemas, and on TiDB, which does not show whether the
	// session has changed its database.
	otherTable func(ctx context.Context, d *dialect, on execer, name string) (here, other string, err error)

	// renameQualified reports whether RENAME TO needs the schema in the new name.
	renameQualified bool
}

// An errorKind is the meaning of an error: whether the failed statement may have been
// applied, and whether another try may succeed.
type errorKind int

const (
	unknown   errorKind = iota // the statement may have been applied
	missing                    // not applied: the table does not exist, or the user may not know that it does
	denied                     // not applied: the session's user or role lacks the right
	duplicate                  // not applied: a row with that key exists
	conflict                   // not applied; another try may succeed
	elsewhere                  // not applied by this server; a try over a new connection may succeed
)

// A tableName is the name of a table, with or without a schema.
type tableName struct {
	schema, name string
	quoted       string // as in SQL, with the schema if there is one
}

// parseTable returns the table that the name "table" or "schema.table" means.
func (d *dialect) parseTable(name string) tableName {
	dot := strings.IndexByte(name, '.') // -1 without a schema, so that all of name is the table
	return d.qualified(name[:max(0, dot)], name[dot+1:])
}

// qualified returns the table with that name in the schema. If schema is empty, the table
// has no schema.
func (d *dialect) qualified(schema, name string) tableName {
	quote := func(s string) string { return d.quote + strings.ReplaceAll(s, d.quote, d.quote+d.quote) + d.quote }
	if schema == "" {
		return tableName{name: name, quoted: quote(name)}
	}
	return tableName{schema, name, quote(schema) + "." + quote(name)}
}
