package zklease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/remote"
)

const root = "/gormflake"

// New returns a store on the ensemble that conn is connected to. The connection
// stays the caller's, who closes it after the last generator.
//
// New asks nothing of the ensemble. A nil connection and a bad option fail every
// call.
func New(conn *zk.Conn, opts ...Option) lease.Store {
	cfg, err := newConfig(opts)
	if conn == nil {
		err = errors.Join(err, errors.New("zklease: connection is nil"))
	}
	s := &store{conn: conn, folder: root + "/" + cfg.namespace, acl: cfg.acl, err: err}
	s.warn = sync.OnceFunc(func() {
		if !cfg.forceSync {
			cfg.log.Warn("zklease: cannot see whether the servers wait for their disks: " +
				"set forceSync=yes, its default, and state it by zklease.WithForceSync")
		}
	})
	return s
}

type store struct {
	conn   *zk.Conn
	folder string // of the namespace
	acl    []zk.ACL
	err    error  // of New
	warn   func() // the first time it is called
}

var _ lease.Store = (*store)(nil)

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.warn()
	records, err := remote.Await(ctx, func() (map[int]lease.Record, error) { return s.load(ctx) })
	if err != nil {
		return nil, fmt.Errorf("zklease: load: %w", err)
	}
	return records, nil
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	s.warn()
	if err := remote.CheckRecords("zklease", worker, from, to); err != nil {
		return false, err
	}
	swapped, err := remote.Await(ctx, func() (bool, error) {
		return s.swap(ctx, s.path(worker), remote.FormatRecord(from), remote.FormatRecord(to))
	})
	if err != nil {
		return false, fmt.Errorf("zklease: write worker %d: %w", worker, err)
	}
	return swapped, nil
}

func (s *store) path(worker int) string { return s.folder + "/" + strconv.Itoa(worker) }

func (s *store) load(ctx context.Context) (map[int]lease.Record, error) {
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
					err = remote.Add(records, names[n], string(data))
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
	if _, err := s.conn.Sync(path); err != nil {
		return false, err
	}
	for ctx.Err() == nil {
		data, stat, err := s.conn.Get(path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if from != absent {
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

// absent is the record of a worker that has no node.
var absent = remote.FormatRecord(lease.Record{})

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
