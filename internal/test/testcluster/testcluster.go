// Package testcluster starts clusters of servers of package testserver for tests. A test
// can kill, cut off or freeze the leader.
//
//	cluster := testcluster.Etcd(t)
//	err := cluster.Break(testcluster.Killed) // the leader
//	err = cluster.Failover()                 // another one leads
//	err = cluster.Heal()                     // the old one follows
package testcluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// Cluster is a group of servers that hold the same data, one of which leads. In a Galera
// cluster each member leads in turn.
type Cluster struct {
	t       testing.TB
	kind    kind
	members []*testserver.Server // one of them leads
	others  []*testserver.Server // servers that watch the members
	urls    []string

	mu     sync.Mutex
	fault  Fault              // the current fault
	broken *testserver.Server // the server that led before the fault
}

// kind contains the operations in which the kinds of clusters differ.
type kind interface {
	leader() *testserver.Server // a leader other than the broken server, or nil
	inject(f Fault, leader *testserver.Server) error
	cutReplicas(leader *testserver.Server) error
	failover(f Fault, broken *testserver.Server) error
	heal(f Fault, broken *testserver.Server) error // broken is nil if there is no fault
	whole() error                                  // returns nil if all members follow the leader
}

// Fault is a fault that a test injects into a cluster.
type Fault string

// The faults, by the names that reports use.
const (
	Killed Fault = "leader killed"
	CutOff Fault = "leader cut off"
	Frozen Fault = "leader frozen"

	Demoted       Fault = "leader demoted"  // PostgreSQL only; it rejects writes on all connections
	StandbyCutOff Fault = "standby cut off" // PostgreSQL only; the commits of the leader wait
	AllKilled     Fault = "all killed"      // Galera only
)

// How long a cluster may take, and how often its start is tried.
const (
	leaderTimeout = 2 * time.Minute  // to elect a leader
	wholeTimeout  = 90 * time.Second // until all members follow
	startAttempts = 3
)

// URLs returns the addresses at which clients find the cluster, in the form of
// [testserver.Server.URL]. For sentinels and for Redis Cluster, they are host:port.
func (c *Cluster) URLs() []string { return c.urls }

// Members returns the servers that hold the data.
func (c *Cluster) Members() []*testserver.Server { return c.members }

// Break injects a fault into the leader, or into the leader's standby if the fault is one of a
// standby. In both cases [Cluster.Broken] then returns the leader.
func (c *Cluster) Break(f Fault) error {
	leader, err := c.awaitLeader()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.fault, c.broken = f, leader
	c.mu.Unlock()
	switch f {
	case Killed:
		leader.Kill()
	case Frozen:
		leader.Pause()
	default:
		return c.kind.inject(f, leader)
	}
	return nil
}

// noFault returns the error of a fault that the kind of cluster does not support.
func noFault(f Fault) error { return fmt.Errorf("testcluster: this cluster has no fault %q", f) }

// Broken returns the server that led when the current fault was injected, or nil if there is no
// fault. With a fault of a standby, this server still leads.
func (c *Cluster) Broken() *testserver.Server {
	_, broken := c.current()
	return broken
}

// current returns the current fault and the broken server.
func (c *Cluster) current() (Fault, *testserver.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault, c.broken
}

// CutReplicas cuts the leader off from the replicas that get its writes after they are
// acknowledged, but not from the processes that watch it. The leader therefore seems
// healthy, but no other server has the writes that it acknowledges from now on. One of
// these replicas becomes the next leader.
func (c *Cluster) CutReplicas() error {
	leader, err := c.awaitLeader()
	if err != nil {
		return err
	}
	return c.kind.cutReplicas(leader)
}

// Failover returns when the cluster has a leader other than the broken server.
func (c *Cluster) Failover() error { return c.kind.failover(c.current()) }

// Heal removes the fault, and returns when the cluster could survive another fault.
func (c *Cluster) Heal() error {
	c.mu.Lock()
	f, broken := c.fault, c.broken
	c.fault, c.broken = "", nil
	c.mu.Unlock()
	return c.kind.heal(f, broken)
}

// Whole returns when all members follow one leader.
func (c *Cluster) Whole() error { return c.await(wholeTimeout, "a whole cluster", c.kind.whole) }

// revive makes a killed or frozen member run again.
func revive(s *testserver.Server) error {
	s.Resume()
	if s.Running() {
		return nil
	}
	return s.Start()
}

// awaitLeader waits until the cluster has a leader other than the broken server.
func (c *Cluster) awaitLeader() (leader *testserver.Server, err error) {
	err = c.await(leaderTimeout, "a leader", func() error {
		leader = c.kind.leader()
		if leader == nil {
			return testserver.ErrNotReady
		}
		return nil
	})
	return leader, err
}

// await waits until ready returns nil. what names the goal in the error.
func (c *Cluster) await(timeout time.Duration, what string, ready func() error) error {
	if err := testserver.Await(timeout, ready); err != nil {
		return fmt.Errorf("testcluster: want %s, not there after %v: %w; the end of its members' logs:\n%s", what, timeout, err, c.logTails())
	}
	return nil
}

// all returns the members and the servers that watch them.
func (c *Cluster) all() []*testserver.Server { return slices.Concat(c.members, c.others) }

// logTails returns the end of each server's log.
func (c *Cluster) logTails() string {
	var text strings.Builder
	for _, s := range c.all() {
		fmt.Fprintf(&text, "-- %s:\n%s\n", s.Address(), s.LogTail())
	}
	return text.String()
}

// start builds a cluster. It repeats this with new ports if a build fails, because
// another process may have taken a port.
func start(t testing.TB, build func(c *Cluster) error) *Cluster {
	t.Helper()
	var err error
	for range startAttempts {
		c := &Cluster{t: t}
		if err = build(c); err == nil {
			err = c.Whole()
		}
		if err == nil {
			return c
		}
		_ = forAll(c.all(), kill)
	}
	t.Fatal(err)
	return nil
}

// place creates n servers of an engine with their ports and folders, but does not start
// them.
func (c *Cluster) place(n int, e testserver.Engine, settings ...string) (placed []*testserver.Server, err error) {
	for range n {
		s, err := testserver.Place(c.t, e, settings...)
		if err != nil {
			return nil, err
		}
		placed = append(placed, s)
	}
	return placed, nil
}

// create starts servers concurrently, because some answer only when most of them run.
func create(servers []*testserver.Server) error {
	return forAll(servers, (*testserver.Server).Create)
}

func kill(s *testserver.Server) error {
	s.Kill()
	return nil
}

// forAll calls do for all servers at the same time.
func forAll(servers []*testserver.Server, do func(*testserver.Server) error) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
