package etcdlease_test

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A learner is a member that gets all records but has no vote, and may lag. It must neither
// return records to the store nor write.
func TestLearnerIsRefused(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Etcd(t)
	voters := open(t, strings.Join(cluster.URLs(), ","))
	if ok, err := voters.CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First); !ok || err != nil {
		t.Fatalf("CompareAndSwap = %v, %v", ok, err)
	}
	learner := open(t, addLearner(t, cluster.URLs()))
	for _, call := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Load", func(ctx context.Context) error { _, err := learner.Load(ctx); return err }},
		{"CompareAndSwap", func(ctx context.Context) error {
			_, err := learner.CompareAndSwap(ctx, 1, storetest.First, storetest.Second)
			return err
		}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := call.do(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "learner") {
			t.Errorf("%s on a learner = %v, want it refused", call.name, err)
		}
	}
	storetest.Holds(t, voters, map[int]lease.Record{1: storetest.First})
}

// open opens a store on these endpoints.
func open(t *testing.T, endpoints string) lease.Store {
	t.Helper()
	store, closeStore, err := dial(t.Context(), endpoints, "learner")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStore)
	return store
}

// addLearner adds a learner to the cluster, and returns its URL.
func addLearner(t *testing.T, endpoints []string) string {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	peer, address := "http://"+freeAddress(t), "http://"+freeAddress(t)
	added, err := client.MemberAddAsLearner(t.Context(), []string{peer})
	for began := time.Now(); err != nil; added, err = client.MemberAddAsLearner(t.Context(), []string{peer}) {
		if time.Since(began) > time.Minute { // the cluster accepts no learner in the first seconds
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	initial := []string{"learner=" + peer}
	for _, m := range added.Members {
		if m.Name != "" {
			initial = append(initial, m.Name+"="+m.PeerURLs[0])
		}
	}
	etcd := exec.CommandContext(t.Context(), "etcd", "--name=learner", "--data-dir="+t.TempDir(), "--initial-cluster-state=existing",
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--listen-client-urls="+address,
		"--advertise-client-urls="+address, "--initial-cluster="+strings.Join(initial, ","))
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Process.Kill(); _ = etcd.Wait() })
	awaitStart(t, address)
	return address
}

// awaitStart waits until the member at the address answers a request about its own status,
// which needs no other member.
func awaitStart(t *testing.T, address string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if started(address) {
			return
		}
	}
	t.Fatalf("the learner has not started after a minute")
}

// started reports whether the member answers.
func started(address string) bool {
	response, err := http.Post(address+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// freeAddress returns an address on which no server listens, and which no other test gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
