package leasetest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/rpc"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A Remote serves one Memory per namespace to the torture's processes. It is
// also a leasetest.Server.
type Remote struct {
	mu       sync.Mutex
	stores   map[string]*leasetest.Memory
	onCall   func(leasetest.Call) leasetest.Fault
	address  string
	listener net.Listener
	conns    []net.Conn
}

type (
	LoadArgs  struct{ Namespace string }
	LoadReply struct{ Records map[int]lease.Record }
	SwapArgs  struct {
		Namespace string
		Worker    int
		Old, New  lease.Record
	}
)

// serve starts a Remote that lasts as long as the test.
func serve(t *testing.T, onCall func(leasetest.Call) leasetest.Fault) *Remote {
	t.Helper()
	r := &Remote{stores: map[string]*leasetest.Memory{}, onCall: onCall, address: "127.0.0.1:0"}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
	go r.deliver(t.Context())
	return r
}

// serveVolatile starts a Remote that crashes all the time: what it has written and
// not acknowledged is visible for a moment, and then often gone.
func serveVolatile(t *testing.T, onCall func(leasetest.Call) leasetest.Fault) *Remote {
	t.Helper()
	r := serve(t, onCall)
	go func() {
		for t.Context().Err() == nil {
			time.Sleep(10*time.Millisecond + rand.N(50*time.Millisecond))
			r.each(func(m *leasetest.Memory) { m.Crash() })
		}
	}()
	return r
}

func (r *Remote) Start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Remote", calls{r}); err != nil {
		return err
	}
	r.listener, r.address = listener, listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // killed
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn)
			r.mu.Unlock()
			go server.ServeConn(conn)
		}
	}()
	return nil
}

func (r *Remote) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener.Close()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

func (r *Remote) store(namespace string) *leasetest.Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stores[namespace] == nil {
		r.stores[namespace] = leasetest.NewMemory()
		r.stores[namespace].OnCall(r.onCall)
	}
	return r.stores[namespace]
}

// deliver lets calls on hold arrive, most of them too late.
func (r *Remote) deliver(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-time.After(700 * time.Millisecond):
		case <-ctx.Done():
		}
		r.each(func(m *leasetest.Memory) { m.Deliver() })
	}
}

func (r *Remote) each(f func(*leasetest.Memory)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, store := range r.stores {
		f(store)
	}
}

// calls are what the processes may call.
type calls struct{ r *Remote }

func (c calls) Load(args LoadArgs, reply *LoadReply) (err error) {
	reply.Records, err = c.r.store(args.Namespace).Load(context.Background())
	return err
}

func (c calls) Swap(args SwapArgs, swapped *bool) (err error) {
	*swapped, err = c.r.store(args.Namespace).CompareAndSwap(context.Background(), args.Worker, args.Old, args.New)
	return err
}

// A remoteStore is a lease.Store over a connection to a Remote, which it
// connects again after it was broken off.
type remoteStore struct {
	address, namespace string

	mu     sync.Mutex
	client *rpc.Client
}

func dialRemote(_ context.Context, address, namespace string) (lease.Store, func(), error) {
	s := &remoteStore{address: address, namespace: namespace}
	_, err := s.connect()
	return s, s.reset, err
}

func (s *remoteStore) connect() (*rpc.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	client, err := rpc.Dial("tcp", s.address)
	if err == nil {
		s.client = client
	}
	return client, err
}

func (s *remoteStore) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		s.client.Close()
	}
	s.client = nil
}

func (s *remoteStore) call(ctx context.Context, method string, args, reply any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	client, err := s.connect()
	if err != nil {
		return err
	}
	call := client.Go(method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		var answer rpc.ServerError
		if call.Error != nil && !errors.As(call.Error, &answer) {
			s.reset()
		}
		return call.Error
	case <-ctx.Done():
		return errors.Join(errors.New("no answer yet"), context.Cause(ctx))
	}
}

func (s *remoteStore) Load(ctx context.Context) (map[int]lease.Record, error) {
	reply := new(LoadReply)
	if err := s.call(ctx, "Remote.Load", LoadArgs{s.namespace}, reply); err != nil {
		return nil, err
	}
	if reply.Records == nil { // gob leaves out an empty map
		return map[int]lease.Record{}, nil
	}
	return reply.Records, nil
}

func (s *remoteStore) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	swapped := new(bool)
	if err := s.call(ctx, "Remote.Swap", SwapArgs{s.namespace, worker, old, to}, swapped); err != nil {
		return false, err
	}
	return *swapped, nil
}

func TestRemoteConforms(t *testing.T) {
	t.Parallel()
	remote := serve(t, nil)
	leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
		store, closeStore, err := dialRemote(t.Context(), remote.address, namespace)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(closeStore)
		return store
	})
}
