package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

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
	cmd.Flags().StringVar(&f.url, "dsn", "", "database: sqlite://file, mysql://user:password@host/name or postgres://user:password@host/name (default $"+dsnVariable+")")
}

// given reports whether there is a database: by the flag or the variable.
func (f *databaseFlag) given() bool { return f.value() != "" }

func (f *databaseFlag) value() string {
	if f.url != "" {
		return f.url
	}
	return os.Getenv(dsnVariable)
}

// open connects and asks whether the server answers. The caller calls the
// function that it returns when done.
func (f *databaseFlag) open(ctx context.Context) (db *gorm.DB, closeDB func() error, err error) {
	if !f.given() {
		return nil, nil, usageError{errors.New("no database: give --dsn or set " + dsnVariable)}
	}
	dialector, err := dsn.Open(f.value())
	if err != nil {
		return nil, nil, usageError{err}
	}
	db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		return nil, nil, fmt.Errorf("database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, fmt.Errorf("database: %w", err)
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("database does not answer: %w", err), pool.Close())
	}
	return db, pool.Close, nil
}
