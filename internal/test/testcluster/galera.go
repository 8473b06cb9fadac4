package testcluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// galeraNodes is the number of nodes. Without one of them, the others are a majority.
const galeraNodes = 3

// galera is a cluster without a leader, in which each node accepts writes. Tests break
// the last node first, then the node before it, and so on.
type galera struct {
	*Cluster
	single        testserver.Engine    // MariaDB, without the operations of a cluster
	faults        int                  // number of healed faults of single nodes
	rejoining     []*testserver.Server // after a loss of all nodes, the nodes that are to join the first node
	bootstrapNext bool                 // the next node to start creates a new cluster
	copyAll       bool                 // nodes that start copy all data from another node
}

// Galera starts a cluster of three MariaDB servers. Settings are like those of
// [testserver.MariaDB] and apply to every node. Clients choose which node to use.
func Galera(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	library := testserver.Find(t, testserver.EngineOf("galera"))
	return start(t, func(c *Cluster) error {
		g := &galera{Cluster: c, single: testserver.EngineOf("mariadb"), bootstrapNext: true}
		c.kind = g
		return g.build(library, settings)
	})
}

// build starts three nodes one after another. The first node creates the cluster, and the
// others copy its data. The table written is for [writes].
func (g *galera) build(library string, settings []string) error {
	for i := range galeraNodes {
		placed, err := g.place(1, g.node(i), settings...)
		if err != nil {
			return err
		}
		g.members = append(g.members, placed...)
		g.urls = append(g.urls, placed[0].URL())
	}
	if err := g.configure(library); err != nil {
		return err
	}
	for _, s := range g.members {
		if err := s.Create(); err != nil {
			return err
		}
	}
	_, err := g.members[0].Query("CREATE DATABASE testcluster; CREATE TABLE testcluster.written (id INT PRIMARY KEY, value DOUBLE)")
	return err
}

// writes returns nil if the node acknowledges a write.
func writes(s *testserver.Server) error {
	_, err := s.Query("REPLACE INTO testcluster.written VALUES (1, RAND())")
	return err
}

// node returns the engine of node i, which is MariaDB as a node of the cluster. At each start
// the node is told its position, and whether to create a new cluster. The node is ready once it
// has all data of the cluster (Synced).
func (g *galera) node(i int) testserver.Engine {
	e := g.single
	e.Account = "mysql" // under root, rsync would write the copy of a node by the account nobody
	e.Args = func(s *testserver.Server) []string {
		args := g.single.Args(s)
		if s.PID() != 0 { // it has run before
			args = append(args, "--wsrep-start-position="+g.position(s).String())
		}
		if g.bootstrapNext {
			g.bootstrapNext = false
			return append(args, "--wsrep-new-cluster")
		}
		return args
	}
	if i > 0 { // at its first start, the node copies all data from another node
		e.SetUp = func(s *testserver.Server) error { return s.Run("mkdir", s.Data()) }
	}
	e.Answers = func(s *testserver.Server) error {
		if err := g.single.Answers(s); err != nil {
			return err
		}
		state, err := galeraStatus(s, "wsrep_local_state_comment")
		if err == nil && state != "Synced" {
			return testserver.ErrNotReady
		}
		return err
	}
	return e
}

// galeraPorts are the ports on which a node listens for the other nodes.
type galeraPorts struct{ group, state, snapshot int }

// configure gives each node its own ports and the addresses of all nodes. The timeouts are
// shorter than Galera's, so that tests need not wait as long until the other nodes go on
// without a lost node.
func (g *galera) configure(library string) error {
	ports, groups := make([]galeraPorts, len(g.members)), make([]string, len(g.members))
	for i := range ports {
		var errs [3]error
		p := &ports[i]
		p.group, errs[0] = testserver.FreePort()
		p.state, errs[1] = testserver.FreePort()
		p.snapshot, errs[2] = testserver.FreePort()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		groups[i] = address(p.group)
	}
	for i, p := range ports {
		provider := []string{
			"gmcast.listen_addr=tcp://" + address(p.group), "ist.recv_addr=" + address(p.state), "base_port=" + strconv.Itoa(p.group),
			"evs.keepalive_period=PT0.5S", "evs.suspect_timeout=PT2S", "evs.inactive_timeout=PT5S", "gcache.size=8M",
		}
		g.members[i].Configure("binlog-format=ROW", "innodb-autoinc-lock-mode=2", "wsrep-on=ON", "wsrep-provider="+library,
			"wsrep-cluster-name=test", "wsrep-cluster-address=gcomm://"+strings.Join(groups, ","),
			"wsrep-node-address="+address(p.group), "wsrep-sst-method=rsync",
			"wsrep-sst-receive-address="+address(p.snapshot), "wsrep-provider-options="+strings.Join(provider, ";"))
	}
	return nil
}

// leader returns the node that tests break next. By the number of healed faults, this is first
// the last node, then the node before it, and so on.
func (g *galera) leader() *testserver.Server {
	return g.members[len(g.members)-1-g.faults%len(g.members)]
}

// inject cuts a node off or kills all nodes.
func (g *galera) inject(f Fault, leader *testserver.Server) error {
	switch f {
	case CutOff:
		return isolate(leader, 1)
	case AllKilled:
		return forAll(g.members, kill)
	}
	return noFault(f)
}

// isolate cuts a node off from the other nodes, but not from its clients, if cut is 1. If
// cut is 0, it lets the node join them again.
func isolate(s *testserver.Server, cut int) error {
	_, err := s.Query(fmt.Sprintf("SET GLOBAL wsrep_provider_options='gmcast.isolate=%d'", cut))
	return err
}

// cutReplicas fails, because a Galera cluster has no replicas besides its nodes.
func (g *galera) cutReplicas(*testserver.Server) error { return noFault("replicas cut off") }

// failover returns when all nodes that are left acknowledge writes. After a loss of all
// nodes, it first starts the node with the latest position.
func (g *galera) failover(f Fault, broken *testserver.Server) error {
	lost := []*testserver.Server{broken}
	if f == AllKilled {
		if err := g.bootstrap(); err != nil {
			return err
		}
		lost = g.rejoining
	}
	return g.await(leaderTimeout, "nodes that write", func() error {
		for _, s := range g.members {
			if slices.Contains(lost, s) {
				continue
			}
			if err := writes(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// heal makes the broken nodes join the cluster again. The next fault breaks another node.
func (g *galera) heal(f Fault, broken *testserver.Server) error {
	switch f {
	case "": // there is no fault
		return nil
	case AllKilled:
		if g.rejoining == nil { // no failover has started the first node
			if err := g.bootstrap(); err != nil {
				return err
			}
		}
		if err := g.rejoin(); err != nil {
			return err
		}
		return g.Whole()
	case CutOff:
		if err := isolate(broken, 0); err != nil {
			return err
		}
	}
	if err := revive(broken); err != nil {
		return err
	}
	g.faults++
	return g.Whole()
}

// whole checks that every node reports the full size of the cluster. It asks all nodes,
// because a node that was frozen reports the old size for a while.
func (g *galera) whole() error {
	for _, s := range g.members {
		if err := s.Answers(); err != nil {
			return err
		}
		size, err := galeraStatus(s, "wsrep_cluster_size")
		if err == nil && size != strconv.Itoa(len(g.members)) {
			err = fmt.Errorf("%s sees a cluster of %s nodes", s.Address(), size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// galeraStatus returns a status variable of a node.
func galeraStatus(s *testserver.Server, name string) (string, error) {
	line, err := s.Query("SHOW GLOBAL STATUS LIKE '" + name + "'")
	_, value, _ := strings.Cut(line, "\t")
	return value, err
}

// position is a node's position in the cluster's total order of writes.
type position struct {
	cluster string
	seqno   int64
}

func (p position) String() string { return fmt.Sprintf("%s:%d", p.cluster, p.seqno) }

// nowhere is the position of a node that must copy all data from another node.
var nowhere = position{cluster: "00000000-0000-0000-0000-000000000000", seqno: -1}

// recoveredPosition matches the line of MariaDB's log that --wsrep-recover writes. The
// groups are the two parts of a position.
var recoveredPosition = regexp.MustCompile(`Recovered position: ([0-9a-f-]{36}):(-?\d+)`)

// position reads the position of a stopped node from its files, as the node's service does
// before it starts the node. A node that was killed has no other record of its position.
// position returns nowhere if the files have no position, or if copyAll is set.
func (g *galera) position(s *testserver.Server) position {
	log := s.File("recovery")
	defer func() { _ = os.Remove(log) }()
	if g.copyAll || s.RunProgram(append(g.single.Args(s), "--wsrep-recover", "--log-error="+log)...) != nil {
		return nowhere
	}
	text, err := os.ReadFile(log)
	match := recoveredPosition.FindStringSubmatch(string(text))
	if err != nil || match == nil {
		return nowhere
	}
	seqno, err := strconv.ParseInt(match[2], 10, 64)
	if err != nil {
		return nowhere
	}
	return position{cluster: match[1], seqno: seqno}
}

// bootstrap starts the cluster again after a loss of all nodes. It starts the node with
// the latest position first, as an operator should.
func (g *galera) bootstrap() error {
	positions := map[*testserver.Server]int64{}
	for _, s := range g.members {
		positions[s] = g.position(s).seqno
		// By this file the nodes would restore the lost cluster, but only once all of them run.
		_ = os.Remove(filepath.Join(s.Data(), "gvwstate.dat"))
	}
	order := slices.Clone(g.members)
	slices.SortStableFunc(order, func(a, b *testserver.Server) int { return cmp.Compare(positions[b], positions[a]) })
	if err := makeSafe(filepath.Join(order[0].Data(), "grastate.dat")); err != nil {
		return fmt.Errorf("testcluster: bootstrap: %w", err)
	}
	g.bootstrapNext, g.rejoining = true, order[1:]
	return order[0].Start()
}

// rejoin starts the nodes that are down. They copy all data from the running nodes.
func (g *galera) rejoin() error {
	g.copyAll = true
	defer func() { g.copyAll, g.rejoining = false, nil }()
	for _, s := range g.rejoining {
		if err := s.Start(); err != nil {
			return err
		}
	}
	return nil
}

// makeSafe marks a node as safe to bootstrap, by which an operator chooses the first
// node.
func makeSafe(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	safe := strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)
	return os.WriteFile(path, []byte(safe), 0o600)
}
