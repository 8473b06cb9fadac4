package zklease

import (
	"log/slog"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease/internal/remote"
)

// An Option changes a default of [New]. With a bad argument every call of the
// store fails.
type Option interface{ apply(*config) error }

type config struct {
	namespace string
	acl       []zk.ACL
	forceSync bool
	log       *slog.Logger
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

func newConfig(opts []Option) (config, error) {
	c := config{namespace: remote.DefaultNamespace, acl: zk.WorldACL(zk.PermAll), log: slog.Default()}
	return c, option.Apply("zklease", opts, func(opt Option) error { return opt.apply(&c) })
}

// WithNamespace keeps the workers of several applications apart in one ensemble:
// stores share their workers if, and only if, they share ensemble and namespace.
// It has 1 to 64 letters, digits, dots, hyphens and underscores, the first of
// which is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return remote.CheckNamespace("zklease", name)
	})
}

// WithACL sets who may do what with the nodes that the store creates, parents
// included; nodes that exist keep theirs. The connection itself needs to read,
// write and create. The default lets everybody do everything.
func WithACL(acl []zk.ACL) Option {
	return optionFunc(func(c *config) error {
		c.acl = slices.Clone(acl)
		return option.Check(len(acl) > 0, "zklease: WithACL without an entry: nobody could use the nodes")
	})
}

// WithForceSync states that no server of the ensemble has forceSync=no, under which
// it forgets acknowledged writes when its machine dies. ZooKeeper shows the setting
// to no client: without this statement the store logs a warning.
func WithForceSync() Option {
	return optionFunc(func(c *config) error {
		c.forceSync = true
		return nil
	})
}

// WithLogger sets where the store warns, once, that it cannot see whether the
// servers forget. The default is [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "zklease: WithLogger(nil): want a logger")
	})
}
