package zklease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

const root = "/gormflake"

// New returns a store on the ensemble that conn is connected to. The connection
// stays the caller's, who closes it after the last generator.
//
// New asks nothing of the ensemble. A nil connection and a bad option fail every
// call.
func New(conn *zk.Conn, opts ...Option) lease.Store {
	cfg := config{namespace: stores.DefaultNamespace, acl: zk.WorldACL(zk.PermAll), log: slog.Default()}
	err := option.Apply("zklease", opts, func(opt Option) error { return opt.apply(&cfg) })
	if conn == nil {
		err = errors.Join(err, errors.New("zklease: connection is nil"))
	}
	s := &store{Server: stores.Server{Package: "zklease", Err: err}, conn: conn, folder: root + "/" + cfg.namespace, acl: cfg.acl}
	s.warn = sync.OnceFunc(func() {
		if !cfg.forceSync {
			cfg.log.Warn("zklease: cannot see whether the servers wait for their disks: " +
				"set forceSync=yes, its default, and state it by zklease.WithForceSync")
		}
	})
	return s
}

type store struct {
	stores.Server
	conn   *zk.Conn
	folder string // of the namespace
	acl    []zk.ACL
	warn   func() // the first time it is called
}

var _ lease.Store = (*store)(nil)

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	return stores.Call(ctx, s.Server, "load", s.load)
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	return s.Swap(ctx, worker, from, to, func(ctx context.Context, from, to string) (bool, error) {
		return s.swap(ctx, s.folder+"/"+strconv.Itoa(worker), from, to)
	})
}

func (s *store) load(ctx context.Context) (map[int]lease.Record, error) {
	s.warn()
	if _, err := s.conn.Sync(s.folder); err != nil {
		return nil, err
	}
	names, _, err := s.conn.Children(s.folder)
	if errors.Is(err, zk.ErrNoNode) {
		return map[int]lease.Record{}, nil
	}
	if err != nil {
		return nil, err
	}
	return s.loadNodes(ctx, names)
}

// readers is how many nodes are asked for at a time: the answer to one is
// hardly longer in coming than the answers to all.
const readers = 16

func (s *store) loadNodes(ctx context.Context, names []string) (map[int]lease.Record, error) {
	var (
		mu      sync.Mutex
		records = make(map[int]lease.Record, len(names))
		errs    = make([]error, readers)
		wg      sync.WaitGroup
	)
	for i := range readers {
		wg.Go(func() {
			for n := i; n < len(names) && errs[i] == nil && ctx.Err() == nil; n += readers {
				path := s.folder + "/" + names[n]
				data, _, err := s.conn.Get(path)
				mu.Lock()
				if err == nil {
					err = stores.Add(records, names[n], string(data))
				}
				mu.Unlock()
				if err != nil {
					errs[i] = fmt.Errorf("node %s: %w", path, err)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return records, errors.Join(errs...)
}

// swap starts again whenever somebody else has written in between: what is
// there then may be the same again. The client sends a request once, and answers
// with an error if the connection breaks before the reply, so that a write that
// was overtaken has not happened, whatever the node contains.
func (s *store) swap(ctx context.Context, path, from, to string) (bool, error) {
	s.warn()
	if _, err := s.conn.Sync(path); err != nil {
		return false, err
	}
	for ctx.Err() == nil {
		data, stat, err := s.conn.Get(path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if from != stores.Absent {
				return false, nil
			}
			err = s.create(path, to)
		case err != nil:
			return false, err
		case string(data) != from:
			return false, nil
		default:
			_, err = s.conn.Set(path, []byte(to), stat.Version)
		}
		if !overtaken(err) {
			return err == nil, err
		}
	}
	return false, context.Cause(ctx)
}

// overtaken reports whether a write has not happened because the node is no
// longer what was read.
func overtaken(err error) bool {
	return errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode)
}

// create creates the node, and its parents if they are missing.
func (s *store) create(path, data string) error {
	_, err := s.conn.Create(path, []byte(data), 0, s.acl)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for _, parent := range []string{root, s.folder} {
		if _, err := s.conn.Create(parent, nil, 0, s.acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create %s: %w", parent, err)
		}
	}
	_, err = s.conn.Create(path, []byte(data), 0, s.acl)
	return err
}

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

// WithNamespace keeps the workers of several applications apart in one ensemble:
// stores share their workers if, and only if, they share ensemble and namespace.
// It has 1 to 64 letters, digits, dots, hyphens and underscores, the first of
// which is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return stores.CheckNamespace("zklease", name)
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
