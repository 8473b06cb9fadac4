package leasetest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// A Remote serves one Memory per namespace to the torture's processes. It is
// also a leasetest.Server.
type Remote struct {
	mu       sync.Mutex
	stores   map[string]*leasetest.Memory
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
func serve(t *testing.T) *Remote {
	t.Helper()
	r := &Remote{stores: map[string]*leasetest.Memory{}, address: "127.0.0.1:0"}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
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
	}
	return r.stores[namespace]
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

// What follows an address makes the process that dials it wrong.
const (
	apart = "/apart" // it sees no records of others
	quits = "/quits"
)

func dialRemote(_ context.Context, address, namespace string) (lease.Store, func(), error) {
	address, isApart := strings.CutSuffix(address, apart)
	if isApart {
		namespace = fmt.Sprint(namespace, os.Getpid())
	}
	if strings.HasSuffix(address, quits) {
		fmt.Fprintln(os.Stderr, "quits")
		os.Exit(1)
	}
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
	remote := serve(t)
	leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
		store, closeStore, err := dialRemote(t.Context(), remote.address, namespace)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(closeStore)
		return store
	})
}
