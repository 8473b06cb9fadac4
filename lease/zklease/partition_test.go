package zklease_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gormflake/gormflake/internal/test/testcluster"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

// cutOffPatience is how long a client may take to write again after its server was cut off.
// An idle machine takes three seconds, and a busy machine longer.
const cutOffPatience = 45 * time.Second

// The leader is cut off from the other servers, but not from the client whose session is on
// it. The leader must acknowledge no write, and the client must soon reach another server
// and write again.
func TestClusterCutOffSession(t *testing.T) {
	t.Parallel()
	cluster := testcluster.ZooKeeper(t)
	rounds := 1
	if storetest.Long() {
		rounds = 10
	}
	for round := range rounds {
		conn := connectToLeader(t, cluster.URLs())
		store := zklease.New(conn, zklease.WithNamespace(fmt.Sprintf("round%d", round)))
		if ok, err := store.CompareAndSwap(t.Context(), 1, lease.Record{}, storetest.First); !ok || err != nil {
			t.Fatalf("CompareAndSwap on the leader = %v, %v", ok, err)
		}
		began := time.Now()
		if err := cluster.Break(testcluster.CutOff); err != nil {
			t.Fatal(err)
		}
		if got, want := conn.Server(), cluster.Broken().URL(); got != want {
			t.Fatalf("the session is on %s, want it on the leader %s that is cut off", got, want)
		}
		failed := writeAgain(t, store)
		if conn.Server() == cluster.Broken().URL() {
			t.Error("a write was acknowledged by the leader that is cut off")
		}
		t.Logf("written again after %v, %d calls that failed", time.Since(began), failed)
		if err := cluster.Heal(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Whole(); err != nil {
			t.Fatal(err)
		}
	}
}

// writeAgain replaces First by Second, and returns how many calls have failed.
func writeAgain(t *testing.T, store lease.Store) (failed int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < cutOffPatience; failed++ {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		ok, err := store.CompareAndSwap(ctx, 1, storetest.First, storetest.Second)
		cancel()
		if err == nil {
			if !ok {
				t.Log("a call that failed has written") // allowed, because the outcome of a call that failed is unknown
			}
			return failed
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no write for %v", cutOffPatience)
	return failed
}

// connectToLeader connects again and again, until a session is on the leader.
func connectToLeader(t *testing.T, addresses []string) *zk.Conn {
	t.Helper()
	for range 100 {
		conn, events, err := zk.Connect(addresses, sessionTimeout, zk.WithLogger(silent{}))
		if err != nil {
			t.Fatal(err)
		}
		for e := range events {
			if e.State == zk.StateHasSession {
				break
			}
		}
		if leads(conn.Server()) {
			t.Cleanup(conn.Close)
			return conn
		}
		conn.Close()
	}
	t.Fatal("no session on the leader in 100 tries")
	return nil
}

// leads reports whether the server at the address says that it is the leader.
func leads(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return false
	}
	answer, _ := io.ReadAll(conn)
	return strings.Contains(string(answer), "Mode: leader\n")
}
