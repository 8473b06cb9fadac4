// Package pgcatalog reads PostgreSQL's catalog for both ways of moving tables,
// with locks and online: one model of relations, columns and what belongs to
// them. It decides nothing, and writes nothing.
//
// [Open] returns a [Reader]. What it reads is as the search path of the connection
// shows it, for messages. [Reader.Qualify] returns a [QualifiedReader], which reads
// what becomes a part of a statement: there, every name has its schema.
package pgcatalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A Reader reads one snapshot of the catalog.
type Reader struct {
	Tx      *sql.Tx
	Version int    // 140005 is 14.5
	Schema  string // the current one; empty without one
	Role    string // the current one
	Locks   int    // that the server has room for
	Super   bool   // Role may set session_replication_role
	Bypass  bool   // no policy hides rows from Role

	work string // begins each error
}

// A QualifiedReader is a Reader for which the server writes the schema of every
// name, so that what it writes means the same on a connection with another
// search_path.
type QualifiedReader struct{ Reader }

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

// Open returns a reader for a transaction. Its errors begin with work.
func Open(ctx context.Context, tx *sql.Tx, work string) (Reader, error) {
	r := Reader{Tx: tx, work: work}
	err := tx.QueryRowContext(ctx, openSQL).Scan(&r.Version, &r.Schema, &r.Role, &r.Locks, &r.Super, &r.Bypass, new(string), new(string))
	if err == nil && r.Version >= 150000 && !r.Super {
		err = tx.QueryRowContext(ctx, parameterSQL).Scan(&r.Super)
	}
	return r, r.failed(err)
}

// Qualify makes the server write the schema of every name from now on. Display
// and [Reader.Resolve] are for before.
func (r Reader) Qualify(ctx context.Context) (QualifiedReader, error) {
	_, err := r.Tx.ExecContext(ctx, "SET LOCAL search_path = ''")
	return QualifiedReader{r}, r.failed(err)
}

func (r Reader) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", r.work, err)
}

// Read returns the rows of a query. Each is scanned into a T, or into its fields in
// their order; those with the tag row:"-" are left out.
func Read[T any](ctx context.Context, r Reader, query string, args ...any) ([]T, error) {
	rows, err := r.Tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, r.failed(err)
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(reflect.ValueOf(&row).Elem())...); err != nil {
			return nil, r.failed(err)
		}
		found = append(found, row)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, r.failed(err)
	}
	return found, nil
}

// fields are what a row is scanned into. A struct stands for its fields.
func fields(v reflect.Value) []any {
	into := v.Addr().Interface()
	if _, scans := into.(sql.Scanner); scans || v.Kind() != reflect.Struct {
		return []any{into}
	}
	var found []any
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("row") != "-" {
			found = append(found, fields(v.Field(i))...)
		}
	}
	return found
}

// Display is the name of an object in messages: without the schema if that is the
// current one.
func (r Reader) Display(schema, name string) string {
	if schema == r.Schema {
		return name
	}
	return schema + "." + name
}

// Named is the name of an object.
type Named struct {
	Schema, Name string
	Display      string `row:"-"` // [Reader.Display]
}

// Target is the name in statements.
func (n *Named) Target() string { return pgsql.Qualified(n.Schema, n.Name) }

// Array is the text of an array of numbers, for drivers that do not know arrays.
func Array[T ~int64](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatInt(int64(v), 10)
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// Texts are scanned from the JSON text of an array, for drivers that do not know
// arrays. They may be NULL.
type Texts []string

// Scan implements [sql.Scanner].
func (t *Texts) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil || !text.Valid {
		return err
	}
	return json.Unmarshal([]byte(text.String), (*[]string)(t))
}
