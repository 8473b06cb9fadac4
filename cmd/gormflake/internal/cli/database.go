package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
)

// dsnVariable keeps a password off the command line, which every user of the
// machine can read.
const dsnVariable = "GORMFLAKE_DSN"

// databaseFlag is the flag --dsn.
type databaseFlag struct{ url string }

func (f *databaseFlag) register(cmd *cobra.Command) {
	textVar(cmd.Flags(), &f.url, "dsn", "", "database: sqlite://file, mysql://user:password@host/name or postgres://user:password@host/name (default $"+dsnVariable+")")
}

// given reports whether there is a database: by the flag or the variable.
func (f *databaseFlag) given() bool { return f.value() != "" }

func (f *databaseFlag) value() string {
	if f.url != "" {
		return f.url
	}
	return os.Getenv(dsnVariable)
}

// open connects and asks whether the server answers. An SQLite file must be
// there: a name that is mistyped would otherwise become an empty database, with
// all of its workers free. The caller calls the function that it returns when
// done.
func (f *databaseFlag) open(ctx context.Context) (db *gorm.DB, closeDB func() error, err error) {
	if !f.given() {
		return nil, nil, usageError{errors.New("no database: give --dsn or set " + dsnVariable)}
	}
	dialector, err := dsn.Open(withMode(f.value(), readWrite))
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := checkFile(f.value()); err != nil {
		return nil, nil, err
	}
	what := "database"
	if path, ok := sqliteFile(f.value()); ok {
		what += " " + path // which drivers of servers name, and SQLite does not
	}
	db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s does not answer: %w", what, err), pool.Close())
	}
	return db, pool.Close, nil
}

// checkFile says what SQLite's errors do not: which file, and what of it.
func checkFile(dsn string) error {
	path, ok := sqliteFile(dsn)
	if !ok {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("database: there is no file %s", path)
	case err != nil:
		return fmt.Errorf("database: %w", err)
	case info.IsDir():
		return fmt.Errorf("database: %s is a folder: want a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return file.Close()
}

func sqliteFile(dsn string) (path string, ok bool) {
	scheme, rest, _ := strings.Cut(dsn, "://")
	rawPath, _, _ := strings.Cut(rest, "?")
	path, err := url.PathUnescape(rawPath)
	return path, strings.EqualFold(scheme, "sqlite") && err == nil && path != "" && path != ":memory:"
}
