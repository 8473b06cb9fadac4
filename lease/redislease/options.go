package redislease

import (
	"log/slog"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease/internal/remote"
)

// An Option changes a default of [New]. With a bad argument every call of the
// store fails.
type Option interface{ apply(*config) error }

type config struct {
	namespace string
	log       *slog.Logger
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

func newConfig(opts []Option) (config, error) {
	c := config{namespace: remote.DefaultNamespace, log: slog.Default()}
	return c, option.Apply("redislease", opts, func(opt Option) error { return opt.apply(&c) })
}

// WithNamespace keeps the workers of several applications apart on one server:
// stores share their workers if, and only if, they share server, database
// number and namespace. It has 1 to 64 letters, digits, dots, hyphens and
// underscores, the first of which is a letter or digit; case counts. The
// default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return remote.CheckNamespace("redislease", name)
	})
}

// WithLogger sets where a server that may forget is warned of, once per store.
// The default is [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "redislease: WithLogger(nil): want a logger")
	})
}
