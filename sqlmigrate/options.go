package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
)

// An Option changes what [Inspect] looks for. It stands among the targets.
type Option interface {
	apply(c *config) error
}

type config struct {
	layout     snowflake.Layout
	tables     []engine.TableName
	references []engine.Reference // that were named
	modelled   []engine.Reference // that come from models
	excluded   []engine.Reference // columns that hold no keys
	keys       []likely.Key       // of which the references are looked for

	recreateViews bool
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithReference names a column that holds keys of another table where neither a
// constraint nor a model says so:
//
//	sqlmigrate.WithReference("audit.order_id", "orders.id")
//
// Both are table.column or schema.table.column, written as table names are in
// [Inspect]. It is an error if a table or a column does not exist.
func WithReference(column, key string) Option {
	return optionFunc(func(c *config) error {
		from, fromColumn, errFrom := engine.ParseColumn(column)
		to, toColumn, errTo := engine.ParseColumn(key)
		if err := errors.Join(errFrom, errTo); err != nil {
			return fmt.Errorf("WithReference(%q, %q): %w", column, key, err)
		}
		c.references = append(c.references, engine.Reference{Table: from, Column: fromColumn, ToTable: to, ToColumn: toColumn})
		return nil
	})
}

// WithoutReference says that a column holds no keys, although it looks like it:
// [Plan.Likely] leaves it out. It is table.column or schema.table.column, and an
// error if it does not exist.
func WithoutReference(column string) Option {
	return optionFunc(func(c *config) error {
		table, name, err := engine.ParseColumn(column)
		if err != nil {
			return fmt.Errorf("WithoutReference(%q): %w", column, err)
		}
		c.excluded = append(c.excluded, engine.Reference{Table: table, Column: name})
		return nil
	})
}

// WithLayout is the layout of the IDs that will be issued: every key in use must
// be smaller than the first of them, or both kinds would meet. The default is
// [snowflake.TwitterLayout].
func WithLayout(layout snowflake.Layout) Option {
	return optionFunc(func(c *config) error {
		if err := layout.Validate(); err != nil {
			return fmt.Errorf("WithLayout: %w", err)
		}
		c.layout = layout
		return nil
	})
}

// WithRecreateViews lets the plan drop views that keep PostgreSQL from changing
// the type of a column, materialized ones too and those above them, and create
// them again in the same transaction, as they were: with their owners, rights,
// comments, options, rules, triggers, indexes and statistics. Their columns have
// the new types then, and materialized views the present rows. Without it, such a
// view is a blocker. Other databases do not need it.
func WithRecreateViews() Option {
	return optionFunc(func(c *config) error {
		c.recreateViews = true
		return nil
	})
}

// An ApplyOption changes how [Plan.Apply] and [Plan.Revert] go about it.
type ApplyOption interface {
	applyTo(c *applyConfig) error
}

type applyConfig struct {
	engine.Settings

	progress func(Progress)
	phases   map[PhaseName]bool // nil: all
	retryFor time.Duration
}

type applyOptionFunc func(*applyConfig) error

func (f applyOptionFunc) applyTo(c *applyConfig) error { return f(c) }

// WithProgress calls fn before each statement and after the last one of each
// phase, one call at a time. What fn does delays the next statement, which may
// be holding locks.
func WithProgress(fn func(Progress)) ApplyOption {
	return applyOptionFunc(func(c *applyConfig) error {
		if fn == nil {
			return errors.New("WithProgress(nil): want a function")
		}
		c.progress = fn
		return nil
	})
}

// defaultLockTimeout is what the files of migration tools have too.
const defaultLockTimeout = 5 * time.Second

// WithLockTimeout limits how long a statement waits for a lock to d, by default
// 5 seconds: while it waits, everything that comes after it waits too. Then it is
// tried again, as [WithRetryFor] says. Zero leaves it at what the database, or on
// SQLite the connection, is set to, which may be no limit at all. MySQL and MariaDB
// count in whole seconds, rounded up.
func WithLockTimeout(d time.Duration) ApplyOption {
	return applyOptionFunc(func(c *applyConfig) error {
		if d < 0 {
			return fmt.Errorf("WithLockTimeout(%v): want zero or more", d)
		}
		c.LockTimeout = d
		return nil
	})
}

// WithPhases leaves out all phases but these. A phase that the plan does not
// have, because there is nothing to do, is not an error. The order is always the
// plan's.
func WithPhases(names ...PhaseName) ApplyOption {
	return applyOptionFunc(func(c *applyConfig) error {
		if len(names) == 0 {
			return errors.New("WithPhases(): want at least one of widen, detach and guard")
		}
		c.phases = make(map[PhaseName]bool, len(names))
		for _, name := range names {
			switch name {
			case Widen, Detach, Guard:
				c.phases[name] = true
			default:
				return fmt.Errorf("WithPhases: unknown phase %q: want widen, detach or guard", name)
			}
		}
		return nil
	})
}

func configureApply(opts []ApplyOption) (applyConfig, error) {
	c := applyConfig{
		Settings: engine.Settings{LockTimeout: defaultLockTimeout},
		progress: func(Progress) {},
		retryFor: defaultRetryFor,
	}
	var errs []error
	for _, opt := range opts {
		err := errors.New("option is nil")
		if opt != nil {
			err = opt.applyTo(&c)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sqlmigrate: %w", err))
		}
	}
	return c, errors.Join(errs...)
}
