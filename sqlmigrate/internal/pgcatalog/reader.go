// Package pgcatalog reads PostgreSQL's catalog for packages postgres and pgonline. It has
// one model of relations, columns and the objects that belong to them, and makes no
// decisions. It changes nothing in the database. Only in a transaction of [Scratch] can a
// caller create temporary tables, which end with the transaction.
//
// [Open] returns a [Reader], with which the server writes names relative to the search
// path of the connection, as messages need them. [Reader.Qualify] returns a
// [QualifiedReader], which reads the texts that become parts of statements. In these
// texts every name has its schema.
package pgcatalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Reader reads a snapshot of the catalog in a transaction. After an error, its methods
// return zero values, because the transaction accepts no further query. Callers check
// [Reader.Err] before they use the results.
type Reader struct {
	Tx                    *sql.Tx
	Version               int    // for example 140005 for 14.5
	Schema                string // the current schema; empty if the search path has no schema
	Role                  string // the current role
	Locks                 int    // the size of the server's lock table
	MaySetReplicationRole bool   // whether Role may set session_replication_role
	BypassesPolicies      bool   // whether Role sees all rows in spite of policies

	work string // the beginning of the error
	err  error
}

// A QualifiedReader is a Reader with an empty search path. The server writes the schema
// of every name, so that a text has the same meaning on a connection with another search
// path.
type QualifiedReader struct{ *Reader }

// openSQL returns the properties of the server and of the current role, in the order of the
// fields of Reader. The lock table has room for max_locks_per_transaction locks of each
// server process and of each prepared transaction. The query also turns off two settings for
// the transaction. With row_security, a policy would hide rows, and thereby the largest key,
// without an error. With jit, compiling the queries would take longer than running them.
const openSQL = `
SELECT current_setting('server_version_num')::integer, coalesce(current_schema(), ''), current_user,
       current_setting('max_locks_per_transaction')::integer * (
         SELECT sum(setting::integer) + 1 FROM pg_catalog.pg_settings WHERE name IN
         ('max_connections', 'max_prepared_transactions', 'autovacuum_max_workers', 'max_worker_processes', 'max_wal_senders')),
       r.rolsuper, r.rolsuper OR r.rolbypassrls,
       set_config('row_security', 'off', true), set_config('jit', 'off', true)
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`

// parameterSQL returns whether a role that is not a superuser may set
// session_replication_role, which PostgreSQL 15 and later can grant.
const parameterSQL = `SELECT has_parameter_privilege(current_user, 'session_replication_role', 'SET')`

// Open begins a read-only transaction with a snapshot (repeatable read), so that all
// queries see the same state of the catalog. It returns an error if the server is older
// than version oldest, which is a server_version_num such as 120000. Its errors, and
// those of the reader, begin with work. The caller closes the reader.
func Open(ctx context.Context, conn *sql.Conn, work string, oldest int) (*Reader, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", work, err)
	}
	r := &Reader{Tx: tx, work: work}
	// The last two values are the results of set_config, which are not needed.
	r.Fail(tx.QueryRowContext(ctx, openSQL).Scan(&r.Version, &r.Schema, &r.Role, &r.Locks, &r.MaySetReplicationRole, &r.BypassesPolicies, new(string), new(string)))
	if r.err == nil && r.Version < oldest {
		r.Fail(fmt.Errorf("the server's version is %d: want PostgreSQL %d or later", r.Version/10000, oldest/10000))
	}
	if r.Version >= 150000 && !r.MaySetReplicationRole {
		r.MaySetReplicationRole = One[bool](ctx, r, "the rights of role "+r.Role, parameterSQL)
	}
	if r.err != nil {
		r.Close()
	}
	return r, r.err
}

// Scratch begins a transaction in which temporary tables can be created. [Reader.Close]
// removes them. The errors begin with work. The result does not have the properties of
// the server and the role, such as Version, which [Open] reads.
func Scratch(ctx context.Context, conn *sql.Conn, work string) (QualifiedReader, error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return QualifiedReader{}, fmt.Errorf("%s: %w", work, err)
	}
	q := (&Reader{Tx: tx, work: work}).Qualify(ctx)
	if q.err != nil {
		q.Close()
	}
	return q, q.err
}

// Exec runs a statement, unless there was an error before. In the transaction of [Open],
// which is read-only, the statement can only change a setting. In the transaction of
// [Scratch] it can also create temporary tables.
func (r *Reader) Exec(ctx context.Context, statement string) {
	if r.err == nil {
		_, err := r.Tx.ExecContext(ctx, statement)
		r.Fail(err)
	}
}

// Close rolls the transaction back.
func (r *Reader) Close() { _ = r.Tx.Rollback() }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail stores err, unless there was an error before.
func (r *Reader) Fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", r.work, err)
	}
}

// Qualify sets an empty search path for the rest of the transaction. Call [Reader.Resolve]
// before it, because Resolve finds names without a schema on the search path.
func (r *Reader) Qualify(ctx context.Context) QualifiedReader {
	r.Exec(ctx, "SET LOCAL search_path = ''")
	return QualifiedReader{r}
}

// Read returns the rows of a query, or nil after an error. Each row becomes a T, whose
// fields have the order of the columns (see [rows.Read]). An argument may be a list of
// numbers, nodes or strings, which params converts.
func Read[T any](ctx context.Context, r *Reader, query string, args ...any) []T {
	if r.err != nil {
		return nil
	}
	found, err := rows.Read[T](ctx, r.Tx, query, params(args)...)
	r.Fail(err)
	return found
}

// One returns the only row of a query, or the zero value after an error. what describes
// the row in the error.
func One[T any](ctx context.Context, r *Reader, what, query string) (row T) {
	if r.err != nil {
		return row
	}
	if err := r.Tx.QueryRowContext(ctx, query).Scan(rows.Fields(&row)...); err != nil {
		r.Fail(fmt.Errorf("%s: %w", what, err))
	}
	return row
}

// clauses returns a map from names to texts, for example from the names of indexes to their
// definitions. query returns rows of a name and a text for the table whose OID is its
// parameter $1.
func (q QualifiedReader) clauses(ctx context.Context, query string, table int64) map[string]string {
	clauses := map[string]string{}
	for _, c := range Read[struct{ Name, Clause string }](ctx, q.Reader, query, table) {
		clauses[c.Name] = c.Clause
	}
	return clauses
}

// Display returns the name of an object for messages. It has no schema if it is in the
// current schema.
func (r *Reader) Display(schema, name string) plan.TableName {
	if schema == r.Schema {
		return plan.TableName{Name: name}
	}
	return plan.TableName{Schema: schema, Name: name}
}

// Named is the name of an object, which other structs embed.
type Named struct {
	Schema, Name string
	Display      plan.TableName `row:"-"` // the result of [Reader.Display]
}

// Target returns the quoted name with its schema, for statements.
func (n *Named) Target() string { return pgsql.Qualified(n.Schema, n.Name) }

// A Node identifies a column by the OID of its table and its number in the table (attnum).
type Node struct{ Table, Column int64 }

// params converts arguments for drivers that do not support arrays. It turns a list of
// numbers into the text of an array, a list of nodes into two arrays, of tables and of
// columns, and a list of strings into JSON.
func params(args []any) []any {
	var found []any
	for _, arg := range args {
		switch list := arg.(type) {
		case []int64:
			found = append(found, array(list, func(n int64) int64 { return n }))
		case []Node:
			found = append(found, array(list, func(n Node) int64 { return n.Table }), array(list, func(n Node) int64 { return n.Column }))
		case []string:
			text, _ := json.Marshal(append([]string{}, list...)) // Marshal does not fail for strings; a nil list becomes [] instead of null
			found = append(found, string(text))
		default:
			found = append(found, arg)
		}
	}
	return found
}

// array returns the text of a PostgreSQL array, such as {1,2}, with the number of each
// element of list.
func array[T any](list []T, number func(T) int64) string {
	return "{" + pgsql.Join(list, ",", func(x T) string { return strconv.FormatInt(number(x), 10) }) + "}"
}

// ParentsFirst returns things and all their ancestors, each element once and after its
// parents. The function parents returns the direct parents of an element. If elements are in
// a cycle, one of them comes before its parent.
func ParentsFirst[T comparable](things []T, parents func(T) []T) []T {
	var sorted []T
	seen := map[T]bool{}
	var visit func(T)
	visit = func(item T) {
		if seen[item] {
			return
		}
		seen[item] = true
		for _, parent := range parents(item) {
			visit(parent)
		}
		sorted = append(sorted, item)
	}
	for _, item := range things {
		visit(item)
	}
	return sorted
}
