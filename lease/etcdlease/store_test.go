package etcdlease_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/etcdlease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// The store passes the tests that every store with a server must pass.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.All(t, storetest.Setup{
		Start: func(t testing.TB) *testserver.Server { return testserver.Etcd(t) },
		Open: func(t *testing.T, server *testserver.Server, namespace string) lease.Store {
			return etcdlease.New(connect(t, server.URL()), etcdlease.WithNamespace(namespace))
		},
	})
}

// If the reply to a write is lost, the store returns an error, although the write has
// happened. The client must not send the write again.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	server := testserver.Etcd(t)
	direct := connect(t, server.URL())
	proxy := testserver.NewProxy(t, strings.TrimPrefix(server.URL(), "http://"))
	store := etcdlease.New(connect(t, "http://"+proxy.Address()))
	storetest.Holds(t, store, map[int]lease.Record{})
	proxy.Lose()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if swapped, err := store.CompareAndSwap(ctx, 1, lease.Record{}, storetest.First); err == nil {
		t.Errorf("CompareAndSwap without a reply = %v, want an error", swapped)
	}
	storetest.Holds(t, etcdlease.New(direct), map[int]lease.Record{1: storetest.First})
	reply, err := direct.Get(t.Context(), "gormflake/default/1")
	if err != nil || len(reply.Kvs) != 1 || reply.Kvs[0].Version != 1 { // the number of writes
		t.Errorf("key = %v, %v, want one that was written once", reply, err)
	}
}

// The client or a proxy may repeat a request that has been carried out. The store must
// then return an error, neither true nor false.
func TestRepeatedRequest(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Etcd(t).URL())
	client.KV = twice{client.KV}
	storetest.WrittenTwice(t, etcdlease.New(client))
}

// twice is a client that commits every transaction twice, and keeps the second reply.
type twice struct{ clientv3.KV }

func (k twice) Txn(ctx context.Context) clientv3.Txn {
	return twiceTxn{k.KV.Txn(ctx), k.KV.Txn(ctx)}
}

// A twiceTxn builds two equal transactions, and commits one after the other.
type twiceTxn struct{ a, b clientv3.Txn }

func (x twiceTxn) If(c ...clientv3.Cmp) clientv3.Txn { return twiceTxn{x.a.If(c...), x.b.If(c...)} }

func (x twiceTxn) Then(o ...clientv3.Op) clientv3.Txn {
	return twiceTxn{x.a.Then(o...), x.b.Then(o...)}
}

func (x twiceTxn) Else(o ...clientv3.Op) clientv3.Txn {
	return twiceTxn{x.a.Else(o...), x.b.Else(o...)}
}

func (x twiceTxn) Commit() (*clientv3.TxnResponse, error) {
	if _, err := x.a.Commit(); err != nil {
		return nil, err
	}
	return x.b.Commit()
}

// A gateway carries a transaction out, but answers that it was cancelled. The client then
// repeats the transaction by itself, and the store must return an error, neither true nor
// false. The test fails if the client no longer repeats transactions.
func TestClientRepeatsRequest(t *testing.T) {
	t.Parallel()
	gateway := &cancelling{kv: clientv3.RetryKVClient(connect(t, testserver.Etcd(t).URL()))}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, gateway)
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(listener) }()
	storetest.WrittenTwice(t, etcdlease.New(connect(t, "http://"+listener.Addr().String())))
	if got := gateway.transactions.Load(); got != 4 {
		t.Errorf("%d transactions for two writes: the client repeats none, and the store need not care", got)
	}
}

// cancelling is a gateway that drops every second answer to a transaction, the first
// included, and says that the transaction was cancelled.
type cancelling struct {
	pb.UnimplementedKVServer
	kv           pb.KVClient
	transactions atomic.Int64 // received so far
}

func (s *cancelling) Range(ctx context.Context, request *pb.RangeRequest) (*pb.RangeResponse, error) {
	return s.kv.Range(ctx, request)
}

func (s *cancelling) Txn(ctx context.Context, request *pb.TxnRequest) (*pb.TxnResponse, error) {
	reply, err := s.kv.Txn(ctx, request)
	if s.transactions.Add(1)%2 == 1 && err == nil {
		return nil, status.Error(codes.Canceled, "stream given up")
	}
	return reply, err
}

// New returns no error. If its arguments are invalid, every call of the store must return all
// errors about them.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	client := connect(t, "http://127.0.0.1:1")
	tests := []struct {
		name  string
		store lease.Store
		want  string
	}{
		{"nil client", etcdlease.New(nil), "etcdlease: client is nil"},
		{"nil option", etcdlease.New(client, nil), "etcdlease: option 1 is nil"},
		{"two mistakes", etcdlease.New(nil, nil), "option 1 is nil\netcdlease: client is nil"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			storetest.Refuses(t, test.store, test.want)
		})
	}
}

// Another program has written a key that ends in no worker, or whose value is no record. Load
// must return an error.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Etcd(t).URL())
	for key, value := range map[string]string{"one": "1|x", "2": "x"} {
		if _, err := client.Put(t.Context(), "gormflake/"+key+"/"+key, value); err != nil {
			t.Fatal(err)
		}
		records, err := etcdlease.New(client, etcdlease.WithNamespace(key)).Load(t.Context())
		if err == nil {
			t.Errorf("key %q with value %q: Load = %v, want an error", key, value, records)
		}
	}
}

// The store attaches the key of a worker to no lease of etcd. At the end of such a lease the
// key would vanish, and the worker's bound with it.
func TestNeverExpires(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Etcd(t).URL())
	storetest.Write(t, etcdlease.New(client), 1, lease.Record{}, storetest.First)
	reply, err := client.Get(t.Context(), "gormflake/default/1")
	if err != nil || len(reply.Kvs) != 1 || reply.Kvs[0].Lease != 0 {
		t.Errorf("key = %v, %v, want one without a lease", reply, err)
	}
}
