package testcluster

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// electingCluster is a kind of cluster that elects its leader itself. Its members reach each
// other through gates of the mesh, which can separate them. Clients always reach all
// members, including a member that is cut off.
type electingCluster struct {
	*Cluster
	mesh    mesh
	leads   func(*testserver.Server) bool // asks the server whether it leads
	ready   func() error                  // returns nil if the leader has a replica that could replace it
	isWhole func() error                  // returns nil if all members follow the leader
}

// startElected starts a cluster that elects its leader. It skips the test if the system is not
// Linux, because only on Linux the mesh can identify servers.
func startElected(t testing.TB, service string, build func(c *electingCluster, e testserver.Engine) error) *Cluster {
	t.Helper()
	e := testserver.EngineOf(service)
	testserver.Find(t, e)
	if !canPart {
		t.Skip("testcluster: only Linux shows whose a connection is")
	}
	return start(t, func(c *Cluster) error {
		elected := &electingCluster{Cluster: c, mesh: mesh{t: t}}
		c.kind = elected
		return build(elected, e)
	})
}

// place adds the servers to the mesh, so that the mesh can identify their connections.
func (c *electingCluster) place(n int, e testserver.Engine, settings ...string) ([]*testserver.Server, error) {
	placed, err := c.Cluster.place(n, e, settings...)
	c.mesh.addServers(placed)
	return placed, err
}

// leader asks every member except the broken member, which may still believe that it
// leads.
func (c *electingCluster) leader() *testserver.Server {
	broken := c.Broken()
	for _, s := range c.members {
		if s != broken && c.leads(s) {
			return s
		}
	}
	return nil
}

// inject cuts the leader off from the other servers.
func (c *electingCluster) inject(f Fault, leader *testserver.Server) error {
	if f != CutOff {
		return noFault(f)
	}
	c.mesh.isolate(leader)
	return nil
}

// cutReplicas separates the leader from the other members, but not from the servers that
// watch it, which therefore see no fault.
func (c *electingCluster) cutReplicas(leader *testserver.Server) error {
	watches := map[*testserver.Server]bool{}
	for _, s := range c.others {
		watches[s] = true
	}
	c.mesh.separate(func(from, to *testserver.Server) bool {
		return from != nil && !watches[from] && !watches[to] && (from == leader) != (to == leader)
	})
	return nil
}

// failover waits until the members have elected another leader.
func (c *electingCluster) failover(Fault, *testserver.Server) error {
	_, err := c.awaitLeader()
	return err
}

// heal connects all servers, and makes the broken server run again.
func (c *electingCluster) heal(_ Fault, broken *testserver.Server) error {
	c.mesh.separate(nil)
	if broken != nil {
		if err := revive(broken); err != nil {
			return err
		}
	}
	return c.await(wholeTimeout, "a cluster that could stand a fault", c.ready)
}

func (c *electingCluster) whole() error { return c.isWhole() }
