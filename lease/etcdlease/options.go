package etcdlease

import (
	"errors"
	"fmt"
	"regexp"
)

// An Option changes a default of [New]. With a bad argument every call of the
// store fails.
type Option interface{ apply(*config) error }

type config struct {
	namespace string
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// newConfig applies all options to the defaults, so that one run shows every
// mistake.
func newConfig(opts []Option) (config, error) {
	c := config{namespace: "default"}
	var errs []error
	for i, opt := range opts {
		if opt == nil {
			errs = append(errs, fmt.Errorf("etcdlease: option %d of New is nil", i+1))
			continue
		}
		errs = append(errs, opt.apply(&c))
	}
	return c, errors.Join(errs...)
}

var validNamespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// WithNamespace keeps the workers of several applications apart in one cluster:
// stores share their workers if, and only if, they share cluster and namespace.
// It has 1 to 64 letters, digits, dots, hyphens and underscores, the first of
// which is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		if !validNamespace.MatchString(name) {
			return fmt.Errorf("etcdlease: WithNamespace(%q): want 1 to 64 letters, digits, dots, hyphens "+
				"and underscores, the first a letter or digit", name)
		}
		c.namespace = name
		return nil
	})
}
