// Package readonly asks a database that it cannot change.
package readonly

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/internal/compatible"
)

// A Database is a database that is read and never written.
type Database struct {
	Ctx     context.Context
	DB      *gorm.DB // of one connection, which is set to read only
	Dialect string   // GORM's name
	Engine  string   // that speaks the dialect's protocol, such as TiDB; empty for the dialect's own
}

var readOnlySQL = map[string]string{
	"sqlite":   "PRAGMA query_only = 1",
	"mysql":    "SET SESSION TRANSACTION READ ONLY",
	"postgres": "SET default_transaction_read_only = on",
}

// With opens the database of the flag, calls use and closes it.
func With(ctx context.Context, f *flags.Database, use func(*Database) error) error {
	return f.With(ctx, flags.ReadOnly, func(db *gorm.DB) error {
		pool, err := db.DB()
		if err != nil {
			return err
		}
		pool.SetMaxOpenConns(1)
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
		p := &Database{ctx, db, db.Name(), ""}
		if err := p.setReadOnly(); err != nil {
			return fmt.Errorf("set the connection to read only: %w", err)
		}
		return use(p)
	})
}

// setReadOnly leaves TiDB's connection as it is, which cannot be set so.
func (p *Database) setReadOnly() (err error) {
	if p.Dialect == "mysql" {
		var version string
		if err = p.Ask("SELECT VERSION()", nil, &version); err != nil {
			return err
		}
		p.Engine = compatible.Engine(version)
	}
	if p.Engine == "" {
		_, err = p.DB.ConnPool.ExecContext(p.Ctx, readOnlySQL[p.Dialect])
	}
	return err
}

// Ask scans the one row of a query.
func (p *Database) Ask(query string, args []any, into ...any) error {
	return p.DB.ConnPool.QueryRowContext(p.Ctx, query, args...).Scan(into...)
}

// clockSQL is the clock in microseconds. SQLite has that of the process.
var clockSQL = map[string]string{
	"mysql":    "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
}

// Clock asks a server for its clock.
func (p *Database) Clock() (time.Time, error) {
	var microseconds int64
	err := p.Ask(clockSQL[p.Dialect], nil, &microseconds)
	return time.UnixMicro(microseconds), err
}

// Rows returns the rows of a query. Into are the places of a row's columns.
func Rows[T any](p *Database, query string, args []any, into func(*T) []any) ([]T, error) {
	rows, err := p.DB.ConnPool.QueryContext(p.Ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var row T
		if err := rows.Scan(into(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// Quote quotes names, and joins them with dots. Empty ones are left out.
func (p *Database) Quote(names ...string) string {
	mark := `"`
	if p.Dialect == "mysql" {
		mark = "`"
	}
	var quoted []string
	for _, name := range names {
		if name != "" {
			quoted = append(quoted, mark+strings.ReplaceAll(name, mark, mark+mark)+mark)
		}
	}
	return strings.Join(quoted, ".")
}

// mysqlDenied are the numbers of the errors for a missing right.
var mysqlDenied = regexp.MustCompile(`\bError (1044|1142|1143|1227|1370)\b`)

// Denied reports whether the account lacks a right.
func Denied(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "42501"
	}
	return mysqlDenied.MatchString(err.Error())
}
