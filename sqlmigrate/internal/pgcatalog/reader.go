// Package pgcatalog reads PostgreSQL's catalog for both ways of moving tables,
// with locks and online: one model of relations, columns and what belongs to
// them. It decides nothing. Nothing that it creates, a temporary
// table at most, is left when the transaction ends.
//
// [Open] returns a [Reader]. What it reads is as the search path of the connection
// shows it, for messages. [Reader.Qualify] returns a [QualifiedReader], which reads
// what becomes a part of a statement: there, every name has its schema.
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

// A Reader reads one snapshot of the catalog. Like the transaction that it has, it
// reads nothing any more after an error. Ask [Reader.Err] before anything is decided
// by what was read.
type Reader struct {
	Tx      *sql.Tx
	Version int    // 140005 is 14.5
	Schema  string // the current one; empty without one
	Role    string // the current one
	Locks   int    // that the server has room for
	Super   bool   // Role may set session_replication_role
	Bypass  bool   // no policy hides rows from Role

	work string // begins the error
	err  error
}

// A QualifiedReader is a Reader for which the server writes the schema of every
// name, so that what it writes means the same on a connection with another
// search_path.
type QualifiedReader struct{ *Reader }

// openSQL asks what the server and the role are capable of. It sets two
// parameters for the transaction: a policy would hide rows, and with them the
// largest key; and to compile the queries takes longer than to run them.
const openSQL = `
SELECT current_setting('server_version_num')::integer, coalesce(current_schema(), ''), current_user,
       current_setting('max_locks_per_transaction')::integer * (
         SELECT sum(setting::integer) + 1 FROM pg_catalog.pg_settings WHERE name IN
         ('max_connections', 'max_prepared_transactions', 'autovacuum_max_workers', 'max_worker_processes', 'max_wal_senders')),
       r.rolsuper, r.rolsuper OR r.rolbypassrls,
       set_config('row_security', 'off', true), set_config('jit', 'off', true)
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`

// parameterSQL asks whether the role may set the parameter although it is not a
// superuser, which PostgreSQL 15 and later allow.
const parameterSQL = `SELECT has_parameter_privilege(current_user, 'session_replication_role', 'SET')`

// Open begins a transaction, which is read-only, on a server that is not older than
// oldest. Its error, and that of the reader, begins with work.
func Open(ctx context.Context, conn *sql.Conn, work string, oldest int) (*Reader, error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", work, err)
	}
	r := &Reader{Tx: tx, work: work}
	r.Fail(tx.QueryRowContext(ctx, openSQL).Scan(&r.Version, &r.Schema, &r.Role, &r.Locks, &r.Super, &r.Bypass, new(string), new(string)))
	if r.err == nil && r.Version < oldest {
		r.Fail(fmt.Errorf("the server's version is %d: want PostgreSQL %d or later", r.Version/10000, oldest/10000))
	}
	if r.Version >= 150000 && !r.Super {
		r.Super = One[bool](ctx, r, "the rights of role "+r.Role, parameterSQL)
	}
	if r.err != nil {
		r.Close()
	}
	return r, r.err
}

// Scratch begins a transaction for tables that are there until [Reader.Close].
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

// Exec carries out a statement, unless there was an error before.
func (r *Reader) Exec(ctx context.Context, statement string) {
	if r.err == nil {
		_, err := r.Tx.ExecContext(ctx, statement)
		r.Fail(err)
	}
}

// Close ends the transaction.
func (r *Reader) Close() { _ = r.Tx.Rollback() }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Fail keeps an error, unless there was one before.
func (r *Reader) Fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", r.work, err)
	}
}

// Qualify makes the server write the schema of every name from now on. Display
// and [Reader.Resolve] are for before.
func (r *Reader) Qualify(ctx context.Context) QualifiedReader {
	r.Exec(ctx, "SET LOCAL search_path = ''")
	return QualifiedReader{r}
}

// Read returns the rows of a query, none after an error. For what a T is see
// [rows.Read], and for arguments that are lists [params].
func Read[T any](ctx context.Context, r *Reader, query string, args ...any) []T {
	if r.err != nil {
		return nil
	}
	found, err := rows.Read[T](ctx, r.Tx, query, params(args)...)
	r.Fail(err)
	return found
}

// One returns the only row of a query, zero after an error. what it is about is named
// in the error.
func One[T any](ctx context.Context, r *Reader, what, query string) (row T) {
	if r.err != nil {
		return row
	}
	if err := r.Tx.QueryRowContext(ctx, query).Scan(rows.Fields(&row)...); err != nil {
		r.Fail(fmt.Errorf("%s: %w", what, err))
	}
	return row
}

// Display is the name of an object in messages: without the schema if that is the
// current one.
func (r *Reader) Display(schema, name string) plan.TableName {
	if schema == r.Schema {
		return plan.TableName{Name: name}
	}
	return plan.TableName{Schema: schema, Name: name}
}

// Named is the name of an object.
type Named struct {
	Schema, Name string
	Display      plan.TableName `row:"-"` // [Reader.Display]
}

// Target is the name in statements.
func (n *Named) Target() string { return pgsql.Qualified(n.Schema, n.Name) }

// A Node is a column: the table's OID and the column's number.
type Node struct{ Table, Column int64 }

// params are a query's parameters, for drivers that do not know arrays: a list of
// numbers is the text of an array, nodes are two of them, tables and columns, and a
// list of strings is the text of one in JSON.
func params(args []any) []any {
	var found []any
	for _, arg := range args {
		switch list := arg.(type) {
		case []int64:
			found = append(found, array(list, func(n int64) int64 { return n }))
		case []Node:
			found = append(found, array(list, func(n Node) int64 { return n.Table }), array(list, func(n Node) int64 { return n.Column }))
		case []string:
			text, _ := json.Marshal(append([]string{}, list...)) // strings can always be written
			found = append(found, string(text))
		default:
			found = append(found, arg)
		}
	}
	return found
}

func array[T any](list []T, number func(T) int64) string {
	return "{" + pgsql.Join(list, ",", func(x T) string { return strconv.FormatInt(number(x), 10) }) + "}"
}

// ParentsFirst puts things in an order in which each is after its parents, which it
// adds. Those that are parents of each other stay in some order.
func ParentsFirst[T comparable](things []T, parents func(T) []T) []T {
	var sorted []T
	seen := map[T]bool{}
	var visit func(T)
	visit = func(thing T) {
		if seen[thing] {
			return
		}
		seen[thing] = true
		for _, parent := range parents(thing) {
			visit(parent)
		}
		sorted = append(sorted, thing)
	}
	for _, thing := range things {
		visit(thing)
	}
	return sorted
}
