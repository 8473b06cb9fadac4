package etcdlease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// New returns a store on the cluster that client is connected to. The caller closes the
// client, after the last generator that uses the store has been closed.
//
// New sends no request. A nil client or an invalid option makes every call of the store
// fail.
func New(client *clientv3.Client, opts ...Option) lease.Store {
	cfg := config{namespace: stores.DefaultNamespace}
	err := option.Apply("etcdlease", opts, func(opt Option) error { return opt.apply(&cfg) })
	if client == nil {
		err = errors.Join(err, errors.New("etcdlease: client is nil"))
	}
	return &store{stores.Server{Package: "etcdlease", Err: err}, client, "gormflake/" + cfg.namespace + "/"}
}

// A store keeps each record as text under a key of its own, which ends in the number of the
// worker, for example gormflake/default/7.
type store struct {
	stores.Server
	client *clientv3.Client
	prefix string // of the namespace's keys
}

var _ lease.Store = (*store)(nil)

// Load returns all records of the namespace.
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	return stores.Call(ctx, s.Server, "load", s.load)
}

// load reads all keys of the namespace, and returns their records by worker.
func (s *store) load(ctx context.Context) (map[int]lease.Record, error) {
	// A read without further options is linearizable, which means that it returns every
	// acknowledged write.
	reply, err := s.client.Get(ctx, s.prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	records := make(map[int]lease.Record, len(reply.Kvs))
	for _, kv := range reply.Kvs {
		if err := stores.Add(records, strings.TrimPrefix(string(kv.Key), s.prefix), string(kv.Value)); err != nil {
			return nil, fmt.Errorf("under %s: %w", s.prefix, err)
		}
	}
	return records, nil
}

// CompareAndSwap writes the record to in place of the record from of the worker. It returns
// true if the cluster has acknowledged the write, and false if the worker has another record
// than from. After an error, the write may have happened: see [lease.Store]. Swap of
// [stores.Server] formats both records as text.
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	return s.Swap(ctx, worker, from, to, func(ctx context.Context, from, to string) (bool, error) {
		return s.swap(ctx, s.prefix+strconv.Itoa(worker), from, to)
	})
}

// swap replaces the value from of the key by the value to, in one transaction, and reports
// whether it has written. If the key has another value than from, the transaction reads this
// value. If the value that it reads is to, swap returns [stores.ErrPresent], because this call
// may have written the value; see holds.
//
// The text of the absent record, "0|", stands for a key with this value and for a key that does
// not exist. If from is this text, the transaction therefore first checks whether the key
// exists. If the key exists, a second transaction inside the first compares its value.
func (s *store) swap(ctx context.Context, key, from, to string) (bool, error) {
	unchanged := clientv3.Compare(clientv3.Value(key), "=", from) // false if the key is absent
	put, get := clientv3.OpPut(key, to), clientv3.OpGet(key)
	txn := s.client.Txn(ctx).If(unchanged).Then(put).Else(get)
	if from == stores.Absent {
		absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0) // true if the key does not exist
		nested := clientv3.OpTxn([]clientv3.Cmp{unchanged}, []clientv3.Op{put}, []clientv3.Op{get})
		txn = s.client.Txn(ctx).If(absent).Then(put).Else(nested)
	}
	reply, err := txn.Commit()
	if err != nil {
		return false, err
	}
	for _, response := range reply.Responses {
		if inner := response.GetResponseTxn(); inner != nil { // the key existed, so the inner transaction decides
			reply = (*clientv3.TxnResponse)(inner)
		}
	}
	if !reply.Succeeded && holds(reply, to) {
		return false, stores.ErrPresent
	}
	return reply.Succeeded, nil
}

// holds reports whether a transaction that has not written has read this value under the key.
// If the key already has the new value, swap must return an error, because its own call may
// have written the value.
//
// This happens because the client sends a transaction again if the answer is
// DEADLINE_EXCEEDED or CANCELLED before the context ends (isContextError in its
// retry_interceptor.go). A proxy, or a server that drops the stream, may give such an answer
// although the transaction is carried out. The compare of the repeated transaction then fails
// because the first transaction has written the value. If another process has overwritten the
// value in between, CompareAndSwap returns false, because the overwritten value cannot appear
// again.
func holds(reply *clientv3.TxnResponse, value string) bool {
	for _, response := range reply.Responses {
		for _, kv := range response.GetResponseRange().GetKvs() {
			return string(kv.Value) == value
		}
	}
	return false
}

// An Option changes a default of [New]. An invalid argument makes every call of the
// store fail.
type Option interface{ apply(*config) error }

// config holds the values that options change.
type config struct {
	namespace string
}

// An optionFunc is an Option that calls the function.
type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithNamespace separates the workers of several applications in one cluster. Stores
// share their workers if, and only if, they share the cluster and the namespace. A
// namespace has 1 to 64 letters, digits, dots, hyphens and underscores, the first of which
// is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return stores.CheckNamespace("etcdlease", name)
	})
}
