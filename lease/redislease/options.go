package redislease

import (
	"log/slog"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// An Option changes a default of [New]. An invalid argument makes every call of the
// store fail.
type Option interface{ apply(*config) error }

// config holds the values that options change.
type config struct {
	namespace string
	log       *slog.Logger
}

// An optionFunc is an Option that calls the function.
type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithNamespace separates the workers of several applications on one server. Stores
// share their workers if, and only if, they share the server, the database number and
// the namespace. A namespace has 1 to 64 letters, digits, dots, hyphens and underscores, the
// first of which is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return stores.CheckNamespace("redislease", name)
	})
}

// WithLogger sets the logger for warnings about a server that may forget writes. The
// store logs them once, and again after its settings have changed. The default is
// [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "redislease: WithLogger(nil): want a logger")
	})
}
