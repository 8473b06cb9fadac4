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

// An Option names references, excludes columns, sets the layout, or changes how
// [InspectWith] plans the move. [Validate], [TryKeys] and [FindReferences] take options
// too.
type Option interface {
	apply(c *config) error
}

// A config holds the targets and options of [InspectWith], or the keys and options of
// [FindReferences].
type config struct {
	layout     snowflake.Layout
	tables     []plan.TableName
	references []engine.Reference // from WithReference
	fromModels []engine.Reference // from the associations of models
	excluded   []engine.Reference // columns that hold no keys, from WithoutReference
	keys       []likely.Key       // the keys for which likely references are searched

	recreateViews bool // see [WithRecreateViews]
	park          bool // see [WithParkedCounters]
}

// An optionFunc is an [Option] that is a function.
type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithReference names a column that holds keys of another table, for references that have
// no constraint and are not in a model:
//
//	sqlmigrate.WithReference("audit.order_id", "orders.id")
//
// Both arguments are table.column or schema.table.column, in the notation of [Inspect].
// It is an error if a table or a column does not exist.
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

// WithoutReference declares that a column holds no keys, for example
//
//	sqlmigrate.WithoutReference("audit.external_id")
//
// [Plan.Likely] and the result of [FindReferences] then leave the column out, even if its
// name or its values look like those of a reference. The argument is table.column or
// schema.table.column. It is an error if the column does not exist.
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

// WithLayout sets the layout of the IDs that will be issued. Every key in use must be
// smaller than the first new ID, so that a new ID never equals an old key. The default is
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

// WithRecreateViews lets the plan drop the views that prevent PostgreSQL from changing the
// type of a column. These include materialized views, and views that read from such a view.
// The transaction that drops a view also creates it again, with its owner, rights,
// comments, options, rules, triggers, indexes and statistics. Afterwards, the columns of
// the views have the new types, and materialized views have the current rows. Without this
// option, a view that prevents the change is a blocker. On other databases the option has
// no effect, because there a view does not prevent the plan from changing a column.
func WithRecreateViews() Option {
	return optionFunc(func(c *config) error {
		c.recreateViews = true
		return nil
	})
}

// WithParkedCounters replaces phases detach and guard by phase park. The database then
// still assigns a key if a program omits it. Use it for old versions of a program during
// a rolling deploy, or for programs whose models stay as they are, see the plugin's
// WithModels. On MySQL, MariaDB and SQLite, the assigned keys are larger than all IDs of
// the next ten years or more. Without the phase, the counter would follow the largest ID in
// the table, and assign numbers that the generator issues next. Apply the phase before the
// first ID is issued. The sequences of PostgreSQL do not follow the keys of programs;
// there, the phase lets programs write keys to columns that are GENERATED ALWAYS.
func WithParkedCounters() Option {
	return optionFunc(func(c *config) error {
		c.park = true
		return nil
	})
}

// atLeast returns an error that names the option if d is below limit. least is the limit
// in words.
func atLeast(option string, d, limit time.Duration, least string) error {
	if d < limit {
		return fmt.Errorf("sqlmigrate: %s(%v): want %s or more", option, d, least)
	}
	return nil
}
