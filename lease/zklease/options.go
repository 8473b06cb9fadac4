package zklease

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-zookeeper/zk"
)

// An Option changes a default of [New]. With a bad argument every call of the
// store fails.
type Option interface{ apply(*config) error }

type config struct {
	namespace string
	acl       []zk.ACL
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// newConfig applies all options to the defaults, so that one run shows every
// mistake.
func newConfig(opts []Option) (config, error) {
	c := config{namespace: "default", acl: zk.WorldACL(zk.PermAll)}
	var errs []error
	for i, opt := range opts {
		if opt == nil {
			errs = append(errs, fmt.Errorf("zklease: option %d of New is nil", i+1))
			continue
		}
		errs = append(errs, opt.apply(&c))
	}
	return c, errors.Join(errs...)
}

var validNamespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// WithNamespace keeps the workers of several applications apart in one ensemble:
// stores share their workers if, and only if, they share ensemble and namespace.
// It has 1 to 64 letters, digits, dots, hyphens and underscores, the first of
// which is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		if !validNamespace.MatchString(name) {
			return fmt.Errorf("zklease: WithNamespace(%q): want 1 to 64 letters, digits, dots, hyphens "+
				"and underscores, the first a letter or digit", name)
		}
		c.namespace = name
		return nil
	})
}

// WithACL sets who may do what with the nodes that the store creates, parents
// included; nodes that exist keep theirs. The connection itself needs to read,
// write and create. The default lets everybody do everything.
func WithACL(acl []zk.ACL) Option {
	return optionFunc(func(c *config) error {
		if len(acl) == 0 {
			return errors.New("zklease: WithACL without an entry: nobody could use the nodes")
		}
		c.acl = slices.Clone(acl)
		return nil
	})
}
