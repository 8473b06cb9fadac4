package gormflake

import (
	"errors"
	"fmt"
	"reflect"
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

type config struct {
	generators map[string]model.Generator
	openOnly   string // an option that is for Open only
	models     []any
	unparked   bool
	lease      []lease.Option
	store      []sqllease.Option
	snowflake  []snowflake.Option
}

type optionFunc func(*config) error

func (f optionFunc) apply(cfg *config) error { return f(cfg) }

func newConfig(opts []Option) (*config, error) {
	cfg := &config{generators: map[string]model.Generator{"": nil}}
	return cfg, option.Apply("gormflake", opts, func(opt Option) error { return opt.apply(cfg) })
}

// forOpen is an option that [New] rejects by its name.
func forOpen(name string, set func(*config)) Option {
	return optionFunc(func(cfg *config) error {
		cfg.openOnly = name
		set(cfg)
		return nil
	})
}

// WithGenerator adds a generator for the columns tagged gen=name, for example
// `snowflake:"pk,gen=orders"`. Columns without gen= use the generator given to
// [New] or created by [Open]. An empty name, a name with a comma, a duplicate name
// and a nil generator are errors.
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
// lease.WithWindow. It is for Open only.
func WithLease(opts ...lease.Option) Option {
	return forOpen("WithLease", func(cfg *config) { cfg.lease = append(cfg.lease, opts...) })
}

// WithStore passes options to the store from which [Open] leases, for example
// sqllease.WithNamespace. It is for Open only.
func WithStore(opts ...sqllease.Option) Option {
	return forOpen("WithStore", func(cfg *config) { cfg.store = append(cfg.store, opts...) })
}

// WithSnowflake passes options to the generator that [Open] creates, for example
// snowflake.WithLayout. It is for Open only.
func WithSnowflake(opts ...snowflake.Option) Option {
	return forOpen("WithSnowflake", func(cfg *config) { cfg.snowflake = append(cfg.snowflake, opts...) })
}

// checkGenerator rejects a nil generator, including a nil pointer in an interface.
func checkGenerator(call string, gen Generator) error {
	what := "nil"
	if v := reflect.ValueOf(gen); v.IsValid() {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Func || !v.IsNil() {
			return nil
		}
		what = fmt.Sprintf("a nil %T", gen)
	}
	return fmt.Errorf("gormflake: %s: generator is %s: want one, for example from snowflake.New", call, what)
}

// WithModels makes the plugin give keys to these models, which need no tag. List
// them as for AutoMigrate, and register the plugin before it:
//
//	models := []any{&User{}, &Card{}}
//	gen, err := gormflake.Open(ctx, db, gormflake.WithModels(models...),
//		gormflake.WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout())))
//	err = db.AutoMigrate(models...)
//
// The key of each is its only primary key and an integer of 64 bits that the database
// would assign, such as the one of gorm.Model. From then on it is as one tagged
// `gorm:"autoIncrement:false" snowflake:"pk"`. A model with a tagged key is left as it
// is, and so is one with snowflake:"-" on any field or embedded struct. It is an error
// of [gorm.DB.Use] if a model has another key, or was used before.
//
// On MySQL, MariaDB and SQLite the counter of an existing table follows the largest
// key: another program gets the generator's next one, and Save of a slice or a nested
// row overwrites its row. [Open] returns an error for such a table, which has the
// statements that park the counter above all IDs of the next ten years, as the command
// gormflake migrate --park does. [New] reads no table: call [Check].
//
// New tables have no counter, on SQLite too, where it would be parked only by another
// statement: an INSERT without a key is an error, never another row's key.
func WithModels(models ...any) Option {
	return optionFunc(func(cfg *config) error {
		cfg.models = append(cfg.models, models...)
		return nil
	})
}

// WithUnparkedCounters makes [Open] log a warning, by the logger of GORM, for each
// counter that would be an error, and [Check] pass it: see [WithModels]. It is for
// tables into which no program inserts without the plugin, as in most tests.
func WithUnparkedCounters() Option {
	return optionFunc(func(cfg *config) error {
		cfg.unparked = true
		return nil
	})
}
