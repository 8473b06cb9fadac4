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

// config collects the arguments of the options of [New] and [Open].
type config struct {
	generators map[string]model.Generator // by the name in gen=name, "" for the default generator
	openOnly   string                     // name of the last option that only Open accepts, "" if none is given
	models     []any                      // of WithModels
	unparked   bool                       // WithUnparkedCounters is given
	lease      []lease.Option             // of WithLease
	store      []sqllease.Option          // of WithStore
	snowflake  []snowflake.Option         // of WithSnowflake
}

// optionFunc is an [Option] that is a function.
type optionFunc func(*config) error

func (f optionFunc) apply(cfg *config) error { return f(cfg) }

// newConfig returns the config that the options set. The error joins the mistakes of all
// options. The default generator, which has the name "", is nil until newPlugin sets it.
func newConfig(opts []Option) (*config, error) {
	cfg := &config{generators: map[string]model.Generator{"": nil}}
	return cfg, option.Apply("gormflake", opts, func(opt Option) error { return opt.apply(cfg) })
}

// forOpen returns an option that only [Open] accepts, because New leases no worker and
// creates no generator. set stores the option's arguments in the config. forOpen also stores
// the option's name, for the error that [gorm.DB.Use] returns if the option is given to [New].
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
// On MySQL, MariaDB and SQLite the auto-increment counter of an existing table moves past
// each larger key that is inserted, also past a key of the plugin. Another program that
// inserts without the plugin would therefore get a key that the generator issues next. Save of a
// slice or of a nested row, which replaces a row that has the same key, would then overwrite
// that program's row. For such a table [Open] returns an error that contains the statements
// that park the counter, which means to move it above all IDs of the next ten years. The
// command gormflake migrate apply --park does the same. [New] reads no table, so call
// [Check] after it.
//
// A table that AutoMigrate creates after the plugin is registered has no counter. On SQLite
// its key is therefore a bigint NOT NULL, which is not the rowid. An INSERT without a key
// into such a table returns an error and never gets another row's key.
func WithModels(models ...any) Option {
	return optionFunc(func(cfg *config) error {
		cfg.models = append(cfg.models, models...)
		return nil
	})
}

// WithUnparkedCounters makes [Open] log a warning, by the logger of GORM, for the
// auto-increment counters for which it would otherwise return an error; see [WithModels].
// [Check] then accepts such counters. Use it for tables into which no program inserts without
// the plugin, as in most tests.
func WithUnparkedCounters() Option {
	return optionFunc(func(cfg *config) error {
		cfg.unparked = true
		return nil
	})
}
