package sqllease

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/gormflake/gormflake/internal/option"
)

const (
	defaultNamespace = "default"
	defaultTable     = "snowflake_workers"

	// maxIdentifier is the largest length of the name of a table in PostgreSQL, which cuts
	// longer names without an error. MySQL's limit is 64.
	maxIdentifier = 63
	maxNamespace  = 64  // characters
	maxOwner      = 128 // characters, as lease.Record documents
)

var (
	// validTable matches "table" and "schema.table".
	validTable  = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%[1]d}(\.[A-Za-z0-9_-]{1,%[1]d})?$`, maxIdentifier))
	unprintable = regexp.MustCompile(`[^ -~]`) // matches control characters and non-ASCII
)

// ErrNoTable is wrapped by the errors of a store that does not find the table of
// workers and may not create it because of [ExistingTable].
var ErrNoTable = errors.New("no table of workers")

// An Option changes a default of [New]. An invalid argument makes every call of the
// store fail.
type Option interface{ apply(*config) error }

// config holds the values that options change.
type config struct {
	namespace string
	table     string // as given, without quotes
	pool      *sql.DB
	volatile  bool // whether AllowVolatile was given
	existing  bool // whether ExistingTable was given
	logger    *slog.Logger
}

// An optionFunc is an Option that calls the function.
type optionFunc func(*config) error

func (f optionFunc) apply(cfg *config) error { return f(cfg) }

// WithNamespace separates the workers of several applications in one table. Stores
// share their workers if, and only if, they have the same namespace. A namespace has 1 to
// 64 characters of printable ASCII; case and blanks are significant. The default is
// "default".
func WithNamespace(name string) Option {
	return optionFunc(func(cfg *config) error {
		cfg.namespace = name
		return option.Check(name != "" && len(name) <= maxNamespace && !unprintable.MatchString(name),
			"sqllease: WithNamespace(%q): want 1 to %d characters of printable ASCII", name, maxNamespace)
	})
}

// WithTable names the table, or the schema and the table as "schema.table" (on
// MySQL, the database and the table). Names consist of up to 63 ASCII letters,
// digits, hyphens and underscores each, and are used exactly as written: GORM's
// naming strategy does not apply. The default is "snowflake_workers".
func WithTable(name string) Option {
	return optionFunc(func(cfg *config) error {
		cfg.table = name
		return option.Check(validTable.MatchString(name),
			"sqllease: WithTable(%q): want a table or schema.table, each of up to %d ASCII letters, digits, hyphens and underscores", name, maxIdentifier)
	})
}

// AllowVolatile accepts a database that may forget acknowledged writes, or an engine
// whose settings do not show whether it forgets, such as TiDB. It also disables the
// warnings about such settings. Combine it with lease.WithSettle of at least one window.
// Without lease.WithSettle, a lease on TiDB still fails, and on other databases IDs can be
// issued twice after a crash. AllowVolatile does not accept a table that is refused with a
// [TableError].
func AllowVolatile() Option {
	return optionFunc(func(cfg *config) error {
		cfg.volatile = true
		return nil
	})
}

// WithPool sends the store's statements over this pool instead of the pool that db was
// opened with. db still determines the dialect. The pool must lead to the same
// database, or SQLite file, and stay open. Use it if transactions take all connections
// of db for longer than a quarter of the window: see Connections in the package's
// documentation. The default is the pool of db.
func WithPool(pool *sql.DB) Option {
	return optionFunc(func(cfg *config) error {
		cfg.pool = pool
		return option.Check(pool != nil, "sqllease: WithPool(nil): want a pool")
	})
}

// WithLogger sets the logger for warnings about the database's settings and
// connections. The default is [slog.Default].
func WithLogger(logger *slog.Logger) Option {
	return optionFunc(func(cfg *config) error {
		cfg.logger = logger
		return option.Check(logger != nil, "sqllease: WithLogger(nil): want a logger")
	})
}

// ExistingTable keeps the store from creating the table. Use it for tools that only
// read, and for applications without the right to create tables. If there is no table,
// every call fails with [ErrNoTable].
func ExistingTable() Option {
	return optionFunc(func(cfg *config) error {
		cfg.existing = true
		return nil
	})
}

// configure returns the default values, changed by the options.
func configure(opts []Option) (config, error) {
	cfg := config{namespace: defaultNamespace, table: defaultTable, logger: slog.Default()}
	return cfg, option.Apply("sqllease", opts, func(opt Option) error { return opt.apply(&cfg) })
}
