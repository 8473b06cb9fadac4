// Package flags has the flags and arguments that several commands share. Their errors say
// which value was expected.
package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// Database holds the flags --dsn and --dsn-file, which give the URL of a database. In commands
// that call RegisterOr, the URL can also be that of another store of leases, such as
// redis://host:6379/0.
type Database struct{ url string }

// forms lists the forms of --dsn for the help.
const forms = "database: sqlite://file, mysql://user:password@host/name or postgres://user:password@host/name"

// Register adds the flags to a command.
func (f *Database) Register(cmd *cobra.Command) { f.register(cmd, forms) }

// RegisterOr adds the flags to a command that also accepts stores that are not databases.
// otherForms lists the forms of their URLs for the help.
func (f *Database) RegisterOr(cmd *cobra.Command, otherForms string) {
	f.register(cmd, forms+"; or store: "+otherForms)
}

// register adds the flags to a command. usage is the help text of --dsn.
func (f *Database) register(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.url, "dsn", "", usage)
	cmd.Flags().Var((*urlFile)(&f.url), "dsn-file", "file with the URL of --dsn, which other users of the machine can then not read")
	cmd.MarkFlagsMutuallyExclusive("dsn", "dsn-file")
}

// A urlFile is the value of --dsn-file. Setting the flag reads the URL from the file, and
// sets the same text as --dsn.
type urlFile string

// Set reads the URL from the file with the name.
func (f *urlFile) Set(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	*f = urlFile(strings.TrimSpace(string(text)))
	if *f == "" {
		return errors.New("the file is empty")
	}
	return nil
}

func (*urlFile) String() string { return "" } // so that the help does not show the URL as the default
func (*urlFile) Type() string   { return "string" }

// Given reports whether a flag names a database.
func (f *Database) Given() bool { return f.url != "" }

// URL returns the URL of the database or store, or "" if it was not given.
func (f *Database) URL() string { return f.url }

// Name returns a name of the database for labels of metrics, which is the last part of its URL
// without the parameters. Examples are shop for postgres://app@db/shop, and shop.db for
// sqlite:///var/shop.db. It returns "" if package net/url rejects the URL, as it rejects
// sqlite://my%20shop.db, whose host has an escaped space.
func (f *Database) Name() string {
	u, err := url.Parse(f.URL())
	if err != nil {
		return ""
	}
	// In sqlite://shop.db, package net/url takes the file for the host. A host before a path
	// does not matter, because Base returns only the part after the last slash.
	return path.Base(u.Host + u.Path)
}

// At returns the database at another address, such as mysql://replica:3306 for a replica. It
// takes the account, the path and the query from the URL of the flag wherever the address has
// none. So the user does not have to repeat the password.
func (f *Database) At(address string) *Database {
	base, err := url.Parse(f.URL())
	other, otherErr := url.Parse(address)
	if err != nil || otherErr != nil {
		return &Database{address} // Open returns the error
	}
	if other.User == nil {
		other.User = base.User
	}
	if strings.Trim(other.Path, "/") == "" {
		other.Path = base.Path
	}
	other.RawQuery = cmp.Or(other.RawQuery, base.RawQuery)
	return &Database{other.String()}
}

// The modes in which [Database.Open] opens an SQLite file, unless the URL has a parameter
// mode.
const (
	ReadOnly  = "ro"
	ReadWrite = "rw"
)

// Open connects to the database and checks that the server answers. mode is [ReadOnly] or
// [ReadWrite], and matters only for an SQLite file. In neither mode does Open change the
// journal mode of the file. The file must exist, because otherwise a misspelled name would
// create an empty database in which all workers are free. The caller calls closeDB when done.
func (f *Database) Open(ctx context.Context, mode string) (db *gorm.DB, closeDB func() error, err error) {
	if !f.Given() {
		return nil, nil, terminal.Usagef("no database: give --dsn or set GORMFLAKE_DSN")
	}
	dialector, err := dsn.Open(withMode(f.URL(), mode))
	if err != nil {
		return nil, nil, terminal.Usage(err)
	}
	subject := "database"
	if path, _, ok := sqliteFile(f.URL()); ok {
		if err := checkFile(path); err != nil {
			return nil, nil, err
		}
		subject += " " + path // unlike the errors of servers, SQLite's do not name the database
	}
	// gorm.Open would ping without ctx. PingContext pings below instead.
	db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", subject, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", subject, err)
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s does not answer: %w", subject, err), pool.Close())
	}
	return db, pool.Close, nil
}

// With opens the database in the mode, calls use and closes the database.
func (f *Database) With(ctx context.Context, mode string, use func(*gorm.DB) error) error {
	db, closeDB, err := f.Open(ctx, mode)
	if err != nil {
		return err
	}
	return errors.Join(use(db), closeDB())
}

// checkFile checks that the file of an SQLite database exists and can be opened. Its errors
// name the file, unlike the errors of SQLite.
func checkFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("database: there is no file %[1]s: to create an empty one: touch %[1]s", path)
	}
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("database: %s is a folder: want a file", path)
	}
	return nil
}

// sqliteFile returns the path and the query of the URL of an SQLite file, for example app.db
// and mode=ro for sqlite://app.db?mode=ro. ok is false for other databases, for an SQLite
// database in memory, and for a path that is empty or has an invalid escape.
func sqliteFile(dsn string) (path, query string, ok bool) {
	scheme, rest, _ := strings.Cut(dsn, "://")
	rawPath, query, _ := strings.Cut(rest, "?")
	path, err := url.PathUnescape(rawPath)
	return path, query, strings.EqualFold(scheme, "sqlite") && err == nil && path != "" && path != ":memory:"
}

// withMode returns the URL of an SQLite file with the parameter mode, for example
// sqlite://app.db?mode=ro. It does not change a URL that has this parameter, an invalid URL,
// or the URL of another database.
func withMode(dsn, mode string) string {
	_, rawQuery, ok := sqliteFile(dsn)
	query, err := url.ParseQuery(rawQuery)
	if !ok || err != nil || query.Has("mode") {
		return dsn
	}
	query.Set("mode", mode)
	return strings.TrimSuffix(dsn, "?"+rawQuery) + "?" + query.Encode()
}

// DefaultTable is the default table of package sqllease.
const DefaultTable = "snowflake_workers"

// A Store holds the flags for the table and namespace of the workers. Each row of the table
// is the lease of one worker, which says which process may issue IDs under it. Each
// namespace has its own workers.
type Store struct{ Table, Namespace string }

// Register adds the flags to a command.
func (f *Store) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Table, "table", DefaultTable, "table of the workers")
	cmd.Flags().StringVar(&f.Namespace, "namespace", "default", "namespace of the workers within the table")
}

// Check returns an error if the names in the flags are invalid. It does not connect to a
// database.
func (f *Store) Check() error {
	// DDL validates the names before it composes the statement, for all databases alike.
	_, err := sqllease.DDL("sqlite", f.Options()...)
	return terminal.Usage(err)
}

// CheckRemote returns an error if --table is given for a store that is not a database, such
// as Redis, because such a store has no tables.
func (f *Store) CheckRemote() error {
	if f.Table != DefaultTable {
		return terminal.Usagef("--table %s: want a database, for other stores have no tables: --namespace tells their workers apart", terminal.Quote(f.Table))
	}
	return nil
}

// Options returns the options of package sqllease for the flags.
func (f *Store) Options() []sqllease.Option {
	return []sqllease.Option{sqllease.WithTable(f.Table), sqllease.WithNamespace(f.Namespace)}
}
