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

// root is the parent node of all namespaces.
const root = "/gormflake"

// New returns a store on the ensemble that conn is connected to. The caller closes the
// connection, after the last generator that uses the store has been closed.
//
// New sends no request. A nil connection or an invalid option makes every call of the
// store fail.
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

// A store keeps each record as text in a node of its own, whose name is the number of the
// worker, for example /gormflake/default/7.
type store struct {
	stores.Server
	conn   *zk.Conn
	folder string   // path of the namespace
	acl    []zk.ACL // of the nodes that the store creates
	warn   func()   // at its first call, logs a warning unless WithForceSync was given
}

var _ lease.Store = (*store)(nil)

// Load returns all records of the namespace.
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	return stores.Call(ctx, s.Server, "load", s.load)
}

// CompareAndSwap writes the record to in place of the record from of the worker. It returns
// true if the ensemble has acknowledged the write, and false if the worker has another record
// than from. After an error, the write may have happened: see [lease.Store]. Swap of
// [stores.Server] formats both records as text.
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	return s.Swap(ctx, worker, from, to, func(ctx context.Context, from, to string) (bool, error) {
		return s.swap(ctx, s.folder+"/"+strconv.Itoa(worker), from, to)
	})
}

// load reads all nodes of the namespace, and returns their records by worker. It calls Sync
// first, because the server to which the client is connected may lag behind the leader.
func (s *store) load(ctx context.Context) (map[int]lease.Record, error) {
	s.warn()
	if _, err := s.conn.Sync(s.folder); err != nil {
		return nil, err
	}
	names, _, err := s.conn.Children(s.folder)
	if errors.Is(err, zk.ErrNoNode) { // no record was ever written
		return map[int]lease.Record{}, nil
	}
	if err != nil {
		return nil, err
	}
	return s.loadNodes(ctx, names)
}

// readers is how many nodes loadNodes reads at a time. A server takes hardly longer for 16
// concurrent requests than for one.
const readers = 16

// loadNodes reads the nodes of these names in the folder of the namespace, with several
// goroutines. Goroutine i reads the names i, i+readers, i+2*readers and so on, and stops at its
// first error.
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

// swap replaces the text from in the node by the text to, and reports whether it has written.
// It returns false if the node contains another text than from. A missing node counts as a
// node that contains the absent record.
//
// ZooKeeper compares only versions. So swap reads the node, and then writes on the condition
// that the node still has the version that was read. If another process has written the node
// in between, swap starts again, because the node may again contain from.
//
// The client sends each request only once, and returns an error if the connection breaks
// before the reply. Therefore a write that the server refuses (see overtaken) has not happened.
// If the node contains the new text after that, another process has written it.
func (s *store) swap(ctx context.Context, path, from, to string) (bool, error) {
	// The first call logs that the store cannot see whether the servers wait for their disks,
	// unless WithForceSync states that they do.
	s.warn()
	if _, err := s.conn.Sync(path); err != nil { // the server must not lag behind the leader
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

// overtaken reports whether err, the error of a write, means that the write has not happened
// because another process has changed, created or deleted the node since swap has read it.
func overtaken(err error) bool {
	return errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode)
}

// create creates the node with the data, and its parents if they are missing.
func (s *store) create(path, data string) error {
	_, err := s.conn.Create(path, []byte(data), 0, s.acl) // the flags 0 mean a persistent node
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

// An Option changes a default of [New]. An invalid argument makes every call of the
// store fail.
type Option interface{ apply(*config) error }

// config holds the values that options change.
type config struct {
	namespace string
	acl       []zk.ACL
	forceSync bool
	log       *slog.Logger
}

// An optionFunc is an Option that calls the function.
type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithNamespace separates the workers of several applications in one ensemble. Stores
// share their workers if, and only if, they share the ensemble and the namespace. A
// namespace has 1 to 64 letters, digits, dots, hyphens and underscores, the first of which
// is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return stores.CheckNamespace("zklease", name)
	})
}

// WithACL sets the access control list of the nodes that the store creates, including
// parents. Existing nodes keep their lists. The list must let the connection of the store
// read, write and create nodes. The default lets every client do everything.
func WithACL(acl []zk.ACL) Option {
	return optionFunc(func(c *config) error {
		c.acl = slices.Clone(acl)
		return option.Check(len(acl) > 0, "zklease: WithACL without an entry: nobody could use the nodes")
	})
}

// WithForceSync states that every server of the ensemble runs with forceSync=yes, the
// default. With forceSync=no a server forgets acknowledged writes when its machine
// dies. ZooKeeper does not show the setting to clients, so the store logs a warning
// without this option.
func WithForceSync() Option {
	return optionFunc(func(c *config) error {
		c.forceSync = true
		return nil
	})
}

// WithLogger sets the logger for the warning, logged once, that the store cannot read
// whether the servers forget writes. The default is [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "zklease: WithLogger(nil): want a logger")
	})
}
