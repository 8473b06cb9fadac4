package testcluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// RedisCluster starts a Redis Cluster of a master with two replicas and two more masters.
// The three masters decide on failovers. The first master is the leader of this Cluster.
// It has all slots except one for each of the other masters. The URLs are addresses of
// the members.
func RedisCluster(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return startElected(t, "redis", func(c *electingCluster, e testserver.Engine) error { return c.buildRedis(e, settings) })
}

// nodeGates contains the gates by which clients and other nodes reach a member of a Redis
// Cluster.
type nodeGates struct{ clients, peers net.Listener }

// clusterSlots is the number of hash slots of every Redis Cluster.
const clusterSlots = 16384

// buildRedis starts the first master with its two replicas, which are the members, and
// the two other masters, which watch them.
func (c *electingCluster) buildRedis(e testserver.Engine, settings []string) (err error) {
	if c.members, err = c.place(3, e, settings...); err != nil {
		return err
	}
	if c.others, err = c.place(2, e, settings...); err != nil {
		return err
	}
	gates := map[*testserver.Server]nodeGates{}
	for _, s := range c.all() {
		if gates[s], err = c.placeRedis(s); err != nil {
			return err
		}
		c.urls = append(c.urls, gates[s].clients.Addr().String())
	}
	c.leads = func(s *testserver.Server) bool { return seesMaster(c.others[0], portOf(gates[s].clients)) }
	c.ready, c.isWhole = c.readyRedis, func() error { return c.wholeRedis(gates) }
	if err := create(c.all()); err != nil {
		return err
	}
	return c.joinRedis(gates)
}

// placeRedis opens the gates of a member, and makes it announce them to clients and nodes.
func (c *electingCluster) placeRedis(s *testserver.Server) (p nodeGates, err error) {
	bus, err := testserver.FreePort() // port on which it listens for other nodes
	if err != nil {
		return p, err
	}
	if p.clients, err = c.mesh.gate(s, "127.0.0.1:0", s.Address()); err != nil {
		return p, err
	}
	if p.peers, err = c.mesh.gate(s, "127.0.0.1:0", address(bus)); err != nil {
		return p, err
	}
	s.Configure("--cluster-enabled yes", "--cluster-node-timeout 1500", "--cluster-allow-replica-migration no", "--repl-diskless-sync-delay 0",
		"--cluster-port "+strconv.Itoa(bus), "--cluster-announce-ip 127.0.0.1",
		"--cluster-announce-port "+portOf(p.clients), "--cluster-announce-bus-port "+portOf(p.peers))
	return p, nil
}

// joinRedis joins the nodes to a cluster. It assigns the slots to the three masters, lets
// the first master meet all other nodes, and makes the other members its replicas. Each
// master gets its own epoch, because masters with the same epoch would first have to agree
// on new epochs.
func (c *electingCluster) joinRedis(gates map[*testserver.Server]nodeGates) error {
	voters := append([]*testserver.Server{c.members[0]}, c.others...)
	// The slot after the last slot of each master.
	ends := []int{clusterSlots - len(c.others), clusterSlots - 1, clusterSlots}
	first := 0
	for i, s := range voters {
		_, slots := askRedis(s, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", first, ends[i]-1))
		_, epoch := askRedis(s, fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1))
		if err := errors.Join(slots, epoch); err != nil {
			return err
		}
		first = ends[i]
	}
	for _, s := range slices.Concat(c.members[1:], c.others) {
		p := gates[s]
		command := fmt.Sprintf("CLUSTER MEET 127.0.0.1 %s %s", portOf(p.clients), portOf(p.peers))
		if _, err := askRedis(c.members[0], command); err != nil {
			return err
		}
	}
	id, err := askRedis(c.members[0], "CLUSTER MYID")
	if err != nil {
		return err
	}
	for _, s := range c.members[1:] {
		err := c.await(leaderTimeout, "a replica", func() error { // the replica must first know the master
			_, err := askRedis(s, "CLUSTER REPLICATE "+id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seesMaster reports whether a node regards the node with the port as the master of the first
// slots, and as alive.
func seesMaster(s *testserver.Server, port string) bool {
	nodes, _ := askRedis(s, "CLUSTER NODES")
	for line := range strings.Lines(nodes) {
		if strings.Contains(line, "127.0.0.1:"+port+"@") {
			return strings.Contains(line, " 0-") && !strings.Contains(line, "fail")
		}
	}
	return false
}

// clusterOK reports whether the node sees a master for every slot.
func clusterOK(s *testserver.Server) bool {
	reply, _ := askRedis(s, "CLUSTER INFO")
	return strings.Contains(reply, "cluster_state:ok")
}

// wholeRedis returns an error unless the leader has both replicas, and all nodes see each
// other.
func (c *electingCluster) wholeRedis(gates map[*testserver.Server]nodeGates) error {
	leader := c.leader()
	if leader == nil {
		return testserver.ErrNotReady
	}
	for _, s := range c.members {
		if err := checkRole(s, s == leader, portOf(gates[leader].clients), len(c.members)-1); err != nil {
			return err
		}
	}
	for _, s := range c.all() {
		reply, _ := askRedis(s, "CLUSTER NODES")
		if !clusterOK(s) || strings.Contains(reply, "fail") || strings.Count(reply, "connected") != len(gates) {
			return fmt.Errorf("nodes %q", reply)
		}
	}
	return nil
}
