package cli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gorm.io/gorm"
)

// A patient is a database that is looked at and not touched.
type patient struct {
	ctx     context.Context
	db      *gorm.DB
	pool    *sql.DB // of one connection, which is set to read only
	dialect string  // GORM's name
	close   func() error
}

var readOnlySQL = map[string]string{
	"sqlite":   "PRAGMA query_only = 1",
	"mysql":    "SET SESSION TRANSACTION READ ONLY",
	"postgres": "SET default_transaction_read_only = on",
}

func (f *databaseFlag) openPatient(ctx context.Context) (*patient, error) {
	db, closeDB, err := f.openExisting(ctx, readOnly)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, errors.Join(err, closeDB())
	}
	pool.SetMaxOpenConns(1)
	pool.SetConnMaxLifetime(0)
	pool.SetConnMaxIdleTime(0)
	if _, err := pool.ExecContext(ctx, readOnlySQL[db.Name()]); err != nil {
		return nil, errors.Join(fmt.Errorf("set the connection to read only: %w", err), closeDB())
	}
	return &patient{ctx, db, pool, db.Name(), closeDB}, nil
}

// ask scans the one row of a query.
func (p *patient) ask(query string, args []any, into ...any) error {
	return p.pool.QueryRowContext(p.ctx, query, args...).Scan(into...)
}

// each calls row for each row of a query.
func (p *patient) each(query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := p.pool.QueryContext(p.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// quote quotes names, and joins them with dots. Empty ones are left out.
func (p *patient) quote(names ...string) string {
	mark := `"`
	if p.dialect == "mysql" {
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

// denied reports whether the account lacks a right.
func denied(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "42501"
	}
	return mysqlDenied.MatchString(err.Error())
}
