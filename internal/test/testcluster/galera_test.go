package testcluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testcluster"
)

// TestGalera checks that a cluster of three nodes acknowledges writes while a node is lost,
// and that the node has these writes after it has returned.
func TestGalera(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Galera(t)
	db := openKept(t, cluster.Members()[0].URL())
	for _, fault := range []struct {
		fault testcluster.Fault
		value string
	}{
		{testcluster.Killed, "1"},
		{testcluster.CutOff, "2"},
	} {
		must(t, cluster.Break(fault.fault))
		lost := cluster.Broken()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := db.ExecContext(ctx, "INSERT INTO kept VALUES ('"+fault.value+"')"); err != nil {
			t.Fatalf("a write after %s: %v", fault.fault, err)
		}
		cancel()
		must(t, cluster.Failover())
		must(t, cluster.Heal())
		var got string
		// With wsrep_sync_wait, the node first applies the writes that it has received.
		if err := open(t, lost.URL()+"?wsrep_sync_wait=1").QueryRowContext(t.Context(), "SELECT MAX(value) FROM kept").Scan(&got); err != nil {
			t.Error(err)
		}
		if got != fault.value {
			t.Errorf("the node that was lost has %q after %s, want %q", got, fault.fault, fault.value)
		}
	}
}
