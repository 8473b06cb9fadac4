package gormflake

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// Option configures [New] and [Open].
type Option interface {
	apply(cfg *config) error
}

// config collects the arguments of the options.
type config struct {
	generators map[string]model.Generator // by the name in gen=name, "" for the default generator
	openOnly   string                     // the last option given that only Open accepts
	models     []any                      // of WithModels
	unparked   bool                       // WithUnparkedCounters is given
	lease      []lease.Option
	store      []sqllease.Option
	snowflake  []snowflake.Option
}

// optionFunc is an [Option] that is a function.
type optionFunc func(*config) error

func (f optionFunc) apply(cfg *config) error { return f(cfg) }

// newConfig applies the options, and returns all their mistakes. The default generator,
// which has the name "", is nil until newPlugin sets it.
func newConfig(opts []Option) (*config, error) {
	cfg := &config{generators: map[string]model.Generator{"": nil}}
	return cfg, option.Apply("gormflake", opts, func(opt Option) error { return opt.apply(cfg) })
}

// forOpen returns an option that calls set. If it is given to [New], [gorm.DB.Use]
// returns an error with the option's name.
func forOpen(name string, set func(*config)) Option {
	return optionFunc(func(cfg *config) error {
		cfg.openOnly = name
		set(cfg)
		return nil
	})
}

// WithGenerator adds a generator for the columns tagged gen=name, for example
// `snowflake:"pk,gen=orders"`. Columns without gen= use the generator given to [New] or
// created by [Open]. [gorm.DB.Use] or Open returns an error if the name is empty,
// contains a comma or is given twice, or if the generator is nil.
func WithGenerator(name string, gen Generator) Option {
	return optionFunc(func(cfg *config) error {
		switch _, taken := cfg.generators[name]; {
		case name == "":
			return errors.New("gormflake: WithGenerator: name is empty: want the name used in gen=name")
		case strings.Contains(name, ","):
			return fmt.Errorf("gormflake: WithGenerator(%q): name contains a comma, which no tag can hold", name)
		case taken:
			return fmt.Errorf("gormflake: WithGenerator(%q): name is given twice", name)
		}
		cfg.generators[name] = gen
		return checkGenerator(fmt.Sprintf("WithGenerator(%q)", name), gen)
	})
}

// WithLease passes options to the lease that [Open] acquires, for example
// lease.WithWindow. It is for Open only. If it is given to [New], [gorm.DB.Use] returns
// an error.
func WithLease(opts ...lease.Option) Option {
	return forOpen("WithLease", func(cfg *config) { cfg.lease = append(cfg.lease, opts...) })
}

// WithStore passes options to the store from which [Open] leases, for example
// sqllease.WithNamespace. It is for Open only. If it is given to [New], [gorm.DB.Use]
// returns an error.
func WithStore(opts ...sqllease.Option) Option {
	return forOpen("WithStore", func(cfg *config) { cfg.store = append(cfg.store, opts...) })
}

// WithSnowflake passes options to the generator that [Open] creates, for example
// snowflake.WithLayout. It is for Open only. If it is given to [New], [gorm.DB.Use]
// returns an error.
func WithSnowflake(opts ...snowflake.Option) Option {
	return forOpen("WithSnowflake", func(cfg *config) { cfg.snowflake = append(cfg.snowflake, opts...) })
}

// WithModels makes the plugin give keys to these models, which need no tag. List them as
// for AutoMigrate, and register the plugin before it:
//
//	models := []any{&User{}, &Card{}}
//	gen, err := gormflake.Open(ctx, db, gormflake.WithModels(models...),
//		gormflake.WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout())))
//	err = db.AutoMigrate(models...)
//
// The key of each model must be its only primary key and a 64-bit integer that the
// database would assign, such as the key of gorm.Model. The plugin then treats it like a
// key tagged `gorm:"autoIncrement:false" snowflake:"pk"`. It does not change a model that
// has a tagged key, or that has snowflake:"-" on any field or embedded struct.
// [gorm.DB.Use] returns an error if a model has another kind of key, or was used before
// the plugin was registered.
//
// On MySQL, MariaDB and SQLite the counter of an existing table follows the largest key.
// Another program that inserts without the plugin would therefore get the generator's
// next key, and Save of a slice or of a nested row would overwrite that program's row.
// For such a table [Open] returns an error that contains the statements that park the
// counter above all IDs of the next ten years, as the command gormflake migrate --park
// does. [New] reads no table, so call [Check] after it.
//
// New tables have no counter, including on SQLite, where only another statement could
// park it. An INSERT without a key into a new table returns an error and never gets
// another row's key.
func WithModels(models ...any) Option {
	return optionFunc(func(cfg *config) error {
		cfg.models = append(cfg.models, models...)
		return nil
	})
}

// WithUnparkedCounters makes [Open] log a warning for each counter that would otherwise
// be an error of [WithModels], by the logger of GORM, and makes [Check] accept such a
// counter. Use it for tables into which no program inserts without the plugin, as in most
// tests.
func WithUnparkedCounters() Option {
	return optionFunc(func(cfg *config) error {
		cfg.unparked = true
		return nil
	})
}
