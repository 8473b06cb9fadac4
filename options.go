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
		return present(fmt.Sprintf("WithGenerator(%q)", name), gen)
	})
}

// WithLease passes options to the lease that [Open] acquires, for example
// lease.WithWindow. It is for Open only.
func WithLease(opts ...lease.Option) Option {
	return optionFunc(func(cfg *config) error {
		cfg.openOnly = "WithLease"
		cfg.lease = append(cfg.lease, opts...)
		return nil
	})
}

// WithStore passes options to the store from which [Open] leases, for example
// sqllease.WithNamespace. It is for Open only.
func WithStore(opts ...sqllease.Option) Option {
	return optionFunc(func(cfg *config) error {
		cfg.openOnly = "WithStore"
		cfg.store = append(cfg.store, opts...)
		return nil
	})
}

// WithSnowflake passes options to the generator that [Open] creates, for example
// snowflake.WithLayout. It is for Open only.
func WithSnowflake(opts ...snowflake.Option) Option {
	return optionFunc(func(cfg *config) error {
		cfg.openOnly = "WithSnowflake"
		cfg.snowflake = append(cfg.snowflake, opts...)
		return nil
	})
}

// present rejects a nil generator, including a nil pointer in an interface.
func present(call string, gen Generator) error {
	what := "nil"
	switch v := reflect.ValueOf(gen); v.Kind() {
	case reflect.Invalid:
	case reflect.Pointer, reflect.Func:
		if !v.IsNil() {
			return nil
		}
		what = fmt.Sprintf("a nil %T", gen)
	default:
		return nil
	}
	return fmt.Errorf("gormflake: %s: generator is %s: want one, for example from snowflake.New", call, what)
}
