package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
)

// An Option changes what [InspectWith] looks for.
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
	park          bool
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
			return fmt.Errorf("sqlmigrate: WithReference(%q, %q): %w", column, key, err)
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
			return fmt.Errorf("sqlmigrate: WithoutReference(%q): %w", column, err)
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
			return fmt.Errorf("sqlmigrate: WithLayout: %w", err)
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

// WithParkedCounters has phase park in place of detach and guard: the database still
// assigns keys, to old versions of a program during a rolling deploy, and to others if
// models stay as they are, see the plugin's WithModels. On MySQL, MariaDB and SQLite
// these are above all IDs of ten years and more, instead of the generator's next ones:
// apply it before the first ID is issued. Sequences of PostgreSQL do not follow the keys
// of programs; there, the phase lets columns that are GENERATED ALWAYS take them.
func WithParkedCounters() Option {
	return optionFunc(func(c *config) error {
		c.park = true
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
	phases   []PhaseName // nil: all
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
			return errors.New("sqlmigrate: WithProgress(nil): want a function")
		}
		c.progress = fn
		return nil
	})
}

// A RunOption is for [Plan.Apply] and [Plan.Revert], and for the methods of
// [OnlinePlan].
type RunOption interface {
	ApplyOption
	OnlineOption
}

type runOption struct {
	applyOptionFunc
	onlineOptionFunc
}

// defaultLockTimeout is what the files of migration tools have too.
const defaultLockTimeout = 5 * time.Second

// WithLockTimeout limits how long a statement waits for a lock to d: while it waits,
// everything that comes after it waits too. Then it is tried again, as [WithRetryFor]
// says.
//
// For [Plan.Apply] the default is 5 seconds. Zero leaves it at what the database, or
// on SQLite the connection, is set to, which may be no limit at all. MySQL and MariaDB
// count in whole seconds, rounded up.
//
// For a short step of an [OnlinePlan], such as the swap, the default is 200 ms, and d
// is a millisecond or more. MariaDB and MySQL try first for as long, or for three seconds
// if that is longer, while nobody waits behind the step (on MySQL for 10 ms at most). If
// it then waits on MariaDB, that is for a second, the least that the server counts.
func WithLockTimeout(d time.Duration) RunOption {
	return runOption{
		func(c *applyConfig) error {
			c.LockTimeout = d
			return atLeast("WithLockTimeout", d, 0, "zero")
		},
		func(c *online.Config) error {
			c.Settings.LockTimeout = d
			return atLeast("WithLockTimeout", d, time.Millisecond, "a millisecond")
		},
	}
}

const defaultRetryFor = 2 * time.Minute

// WithRetryFor limits for how long is tried again what has waited too long for a lock,
// see [WithLockTimeout], or was in a deadlock. Zero means that the first such error is
// the last. The end of the context ends the attempts too.
//
// For [Plan.Apply] the default is 2 minutes. Everything up to the lock is repeated, on
// MySQL and MariaDB the statement alone. In the pauses between attempts, which grow from
// a quarter of a second to 15 seconds, no lock is held, and what has waited goes ahead.
// [WithProgress] is told of each.
//
// For a short step of an [OnlinePlan] the default is 10 minutes.
func WithRetryFor(d time.Duration) RunOption {
	return runOption{
		func(c *applyConfig) error {
			c.retryFor = d
			return atLeast("WithRetryFor", d, 0, "zero")
		},
		func(c *online.Config) error {
			c.Patience = d
			return atLeast("WithRetryFor", d, 0, "zero")
		},
	}
}

// atLeast is for the duration of an option; least is the same in words.
func atLeast(option string, d, limit time.Duration, least string) error {
	if d < limit {
		return fmt.Errorf("sqlmigrate: %s(%v): want %s or more", option, d, least)
	}
	return nil
}

// WithPhases leaves out all phases but these. A phase that the plan does not
// have, because there is nothing to do, is not an error. The order is always the
// plan's.
func WithPhases(names ...PhaseName) ApplyOption {
	return applyOptionFunc(func(c *applyConfig) error {
		if len(names) == 0 {
			return errors.New("sqlmigrate: WithPhases(): want at least one of widen, detach, guard and park")
		}
		for _, name := range names {
			switch name {
			case Widen, Detach, Guard, Park:
				c.phases = append(c.phases, name)
			default:
				return fmt.Errorf("sqlmigrate: WithPhases: unknown phase %q: want widen, detach, guard or park", name)
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
	err := option.Apply("sqlmigrate", opts, func(o ApplyOption) error { return o.applyTo(&c) })
	return c, err
}
