package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An Option changes what [InspectWith] looks for.
type Option interface {
	apply(c *config) error
}

type config struct {
	layout     snowflake.Layout
	tables     []plan.TableName
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
		from, fromColumn, errFrom := plan.ParseColumn(column)
		to, toColumn, errTo := plan.ParseColumn(key)
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
		table, name, err := plan.ParseColumn(column)
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

// atLeast is for the duration of an option; least is the same in words.
func atLeast(option string, d, limit time.Duration, least string) error {
	if d < limit {
		return fmt.Errorf("sqlmigrate: %s(%v): want %s or more", option, d, least)
	}
	return nil
}
