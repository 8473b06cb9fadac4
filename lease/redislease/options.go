package redislease

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
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

// newConfig applies all options to the defaults, so that one run shows every
// mistake.
func newConfig(opts []Option) (config, error) {
	c := config{namespace: "default", log: slog.Default()}
	var errs []error
	for i, opt := range opts {
		if opt == nil {
			errs = append(errs, fmt.Errorf("redislease: option %d of New is nil", i+1))
			continue
		}
		errs = append(errs, opt.apply(&c))
	}
	return c, errors.Join(errs...)
}

var validNamespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// WithNamespace keeps the workers of several applications apart on one server:
// stores share their workers if, and only if, they share server, database
// number and namespace. It has 1 to 64 letters, digits, dots, hyphens and
// underscores, the first of which is a letter or digit; case counts. The
// default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		if !validNamespace.MatchString(name) {
			return fmt.Errorf("redislease: WithNamespace(%q): want 1 to 64 letters, digits, dots, hyphens "+
				"and underscores, the first a letter or digit", name)
		}
		c.namespace = name
		return nil
	})
}

// WithLogger sets where a server that may forget is warned of, once per store.
// The default is [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		if log == nil {
			return errors.New("redislease: WithLogger(nil), want a logger")
		}
		c.log = log
		return nil
	})
}
