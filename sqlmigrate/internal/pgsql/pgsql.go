// Package pgsql has the parts of PostgreSQL's SQL that both ways of moving tables
// need, with locks and online, and the states of errors.
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

// Quote quotes an identifier. It always does: which words are reserved differs
// between versions.
func Quote(name string) string { return Qualified("", name) }

// Qualified quotes a name with its schema, which may be empty.
func Qualified(schema, name string) string {
	return plan.TableName{Schema: schema, Name: name}.Quoted(`"`)
}

// Literal quotes a string so that it reads the same whatever
// standard_conforming_strings is. It stays on one line: tools that split files
// go by how lines begin.
func Literal(s string) string {
	if !strings.ContainsAny(s, "\\\n\r") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\r", `\r`).Replace(s) + "'"
}

// Join joins the texts of things, with a separator.
func Join[T any](list []T, separator string, text func(T) string) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = text(item)
	}
	return strings.Join(texts, separator)
}

// If is a clause that is left out where it does not apply.
func If(applies bool, clause string) string {
	if !applies {
		return ""
	}
	return clause
}

// Comment repeats the comment on an object, if there is one.
func Comment(object string, text *string) []string {
	if text == nil {
		return nil
	}
	return []string{"COMMENT ON " + object + " IS " + Literal(*text)}
}

// SQLSTATEs.
const (
	LockNotAvailable      = "55P03"
	DeadlockDetected      = "40P01"
	SerializationFailure  = "40001" // at READ COMMITTED, of a row that another transaction has moved to another partition
	QueryCanceled         = "57014"
	CheckViolation        = "23514"
	InsufficientPrivilege = "42501"
	UndefinedTable        = "42P01"
	InvalidSchemaName     = "3F000"
)

// State is the SQLSTATE of an error of the server, which both drivers for PostgreSQL
// have, or empty.
func State(err error) string {
	var server interface{ SQLState() string }
	if !errors.As(err, &server) {
		return ""
	}
	return server.SQLState()
}

// Do makes a DO statement, with a delimiter that body does not contain. variables are
// empty, or begin with DECLARE and end with a line.
func Do(variables, body string) string {
	tag := "$$"
	for i := 1; strings.Contains(body, tag); i++ {
		tag = "$do" + strconv.Itoa(i) + "$"
	}
	return "DO " + tag + "\n" + variables + "BEGIN\n" + body + "END\n" + tag
}

// A Backend is identified by the advisory lock that it holds, which is released after
// those on tables: a process ID alone may belong to another one by now. All roles see locks.
type Backend struct {
	PID int64
	Key string // an expression
}

func (b Backend) holder() string {
	return fmt.Sprintf("FROM pg_catalog.pg_locks WHERE pid = %d AND locktype = 'advisory' AND granted AND (classid::bigint << 32) | objid::bigint = %s", b.PID, b.Key)
}

// End implements [engine.Backend], as the user who has logged in: the role that
// connections are set to may not end what that one has begun.
func (b Backend) End(ctx context.Context, other *sql.Conn) error {
	_, err := other.ExecContext(ctx, Do("", "  SET LOCAL ROLE NONE;\n  PERFORM pg_catalog.pg_terminate_backend(pid) "+b.holder()+";\n"))
	return err
}

// Ended implements [engine.Backend].
func (b Backend) Ended(ctx context.Context, other *sql.Conn) (ended bool, err error) {
	err = other.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT "+b.holder()+")").Scan(&ended)
	return ended, err
}

// EndSQL implements [engine.Backend].
func (b Backend) EndSQL() string { return fmt.Sprintf("SELECT pg_terminate_backend(%d)", b.PID) }
