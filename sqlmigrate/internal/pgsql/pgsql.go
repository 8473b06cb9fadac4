// Package pgsql builds parts of SQL statements for PostgreSQL, and reads the states of
// errors. Packages postgres and pgonline use it.
package pgsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Quote returns an identifier in double quotes, for example "order". It quotes every name,
// because the reserved words differ between versions.
func Quote(name string) string { return Qualified("", name) }

// Qualified returns a quoted name with its quoted schema, for example "shop"."orders". If
// schema is empty, it returns the quoted name alone.
func Qualified(schema, name string) string {
	return plan.TableName{Schema: schema, Name: name}.Quoted(`"`)
}

// Literal returns s as a string literal in single quotes, in which each quote of s is
// doubled. The literal has a single line, because tools that read a migration file take a
// line such as -- +goose Down for a command even inside a literal. A string with a
// backslash or a line break therefore becomes E'…', in which \n is a line break. In E'…' a
// backslash always begins an escape; in '…' that depends on the setting
// standard_conforming_strings.
func Literal(s string) string {
	if !strings.ContainsAny(s, "\\\n\r") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}

// Join returns the texts of all elements of list, with separator between them. The function
// text returns the text of an element.
func Join[T any](list []T, separator string, text func(T) string) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = text(item)
	}
	return strings.Join(texts, separator)
}

// If returns clause if applies is true, and "" otherwise.
func If(applies bool, clause string) string {
	if !applies {
		return ""
	}
	return clause
}

// Comment returns the statement that sets the comment of an object, or nil if text is nil
// because the object has no comment. object is the kind and the quoted name of the object,
// for example INDEX "shop"."orders_pkey".
func Comment(object string, text *string) []string {
	if text == nil {
		return nil
	}
	return []string{"COMMENT ON " + object + " IS " + Literal(*text)}
}

// SQLSTATEs, which are the codes of errors of the server.
const (
	LockNotAvailable      = "55P03"
	DeadlockDetected      = "40P01"
	SerializationFailure  = "40001" // at READ COMMITTED, another transaction has moved the row to another partition
	QueryCanceled         = "57014"
	CheckViolation        = "23514"
	InsufficientPrivilege = "42501"
	UndefinedTable        = "42P01"
	InvalidSchemaName     = "3F000"
	internalError         = "XX000"
)

// State returns the SQLSTATE of a server's error, or "" for other errors. The errors of
// both PostgreSQL drivers have the method SQLState.
func State(err error) string {
	var server interface{ SQLState() string }
	if !errors.As(err, &server) {
		return ""
	}
	return server.SQLState()
}

// maxReads is how often Repeat reads the catalog.
const maxReads = 5

// Repeat returns the result of read, which reads the catalog. If the server reports an
// internal error, Repeat calls read again, up to five times in all, because another session
// has probably dropped an object during the read. A query finds an object, such as a rule,
// in its snapshot, but functions such as pg_get_ruledef look the object up as it is now. If
// it no longer exists, some of these functions fail with an internal error, such as "could
// not open relation with OID 36179".
func Repeat[T any](read func() (T, error)) (result T, err error) {
	for range maxReads {
		if result, err = read(); State(err) != internalError {
			break
		}
	}
	return result, err
}

// Do returns a DO statement, which the server runs as PL/pgSQL code. body contains the
// statements between BEGIN and END, and ends with a newline. variables contains the
// declarations from DECLARE on, and ends with a newline too; it is empty if there are none.
// The delimiter of the code is $$. If body contains $$, it is $do1$, if body contains this
// too, $do2$, and so on.
func Do(variables, body string) string {
	tag := "$$"
	for i := 1; strings.Contains(body, tag); i++ {
		tag = "$do" + strconv.Itoa(i) + "$"
	}
	return "DO " + tag + "\n" + variables + "BEGIN\n" + body + "END\n" + tag
}

// A Backend is a session of the server. It is identified by its process ID and an
// advisory lock that it holds, because the process ID alone may belong to another session
// by the time of a kill. The server releases the advisory lock after the locks on tables,
// so a session without the lock does not block programs any more. All roles can see
// locks.
type Backend struct {
	PID int64
	Key string // the key of the advisory lock, a bigint, as an SQL expression
}

// holder returns the FROM and WHERE clauses of a query that has a row if the session holds
// its advisory lock. The view pg_locks shows the upper 32 bits of the lock's key in
// classid, and the lower 32 bits in objid.
func (b Backend) holder() string {
	return fmt.Sprintf("FROM pg_catalog.pg_locks WHERE pid = %d AND locktype = 'advisory' AND granted AND (classid::bigint << 32) | objid::bigint = %s", b.PID, b.Key)
}

// End implements [engine.Backend]. It ends the session by a statement over the connection
// other, if the session still holds its advisory lock. After SET LOCAL ROLE NONE, the
// statement runs with the rights of the user who has logged in. A pool may have set another
// role for its connections, which may not have the right to end the user's sessions.
func (b Backend) End(ctx context.Context, other *sql.Conn) error {
	_, err := other.ExecContext(ctx, Do("", "  SET LOCAL ROLE NONE;\n  PERFORM pg_catalog.pg_terminate_backend(pid) "+b.holder()+";\n"))
	return err
}

// Ended implements [engine.Backend]. It reports whether the session has released its
// advisory lock.
func (b Backend) Ended(ctx context.Context, other *sql.Conn) (ended bool, err error) {
	err = other.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT "+b.holder()+")").Scan(&ended)
	return ended, err
}

// EndSQL implements [engine.Backend]. It returns a statement with which a person can end
// the session.
func (b Backend) EndSQL() string { return fmt.Sprintf("SELECT pg_terminate_backend(%d)", b.PID) }
