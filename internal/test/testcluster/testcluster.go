// Package testcluster gives a test a cluster of servers of package testserver,
// whose leader it may kill, cut off or freeze.
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

// A Cluster is several servers that keep one store, one of which leads. In a Galera
// cluster each member leads in turn.
type Cluster struct {
	t       testing.TB
	kind    kind
	members []*testserver.Server // of which one leads
	others  []*testserver.Server // that watch them
	urls    []string

	mu     sync.Mutex
	fault  Fault              // the present one
	broken *testserver.Server // the one that was leader before the fault
}

// A kind is what differs from one kind of cluster to the next.
type kind interface {
	leader() *testserver.Server // other than the broken one; nil: none yet
	inject(f Fault, leader *testserver.Server) error
	cutReplicas(leader *testserver.Server) error
	failover(f Fault, broken *testserver.Server) error
	heal(f Fault, broken *testserver.Server) error // broken is nil if there is no fault
	whole() error                                  // nil if all follow the leader
}

// A Fault is what is done to a cluster.
type Fault string

// The faults, as they are called in reports.
const (
	Killed Fault = "leader killed"
	CutOff Fault = "leader cut off"
	Frozen Fault = "leader frozen"

	Demoted       Fault = "leader demoted"  // PostgreSQL: it refuses to write, over all connections
	StandbyCutOff Fault = "standby cut off" // PostgreSQL: the commits of the leader wait
	AllKilled     Fault = "all killed"      // Galera
)

const (
	leaderTimeout = 2 * time.Minute
	wholeTimeout  = 90 * time.Second
	startAttempts = 3
)

// URLs are where clients look for the cluster, in the form of
// [testserver.Server.URL]; for sentinels and for Redis Cluster, host:port.
func (c *Cluster) URLs() []string { return c.urls }

// Members are the servers that hold what is stored.
func (c *Cluster) Members() []*testserver.Server { return c.members }

// Break injects a fault into the leader.
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

func noFault(f Fault) error { return fmt.Errorf("testcluster: this cluster has no fault %q", f) }

// Broken returns the server that the present fault affects, or nil.
func (c *Cluster) Broken() *testserver.Server {
	_, broken := c.present()
	return broken
}

func (c *Cluster) present() (Fault, *testserver.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault, c.broken
}

// CutReplicas cuts the leader off from the replicas that get its writes after they
// are acknowledged, but not from the processes that watch it: it seems healthy, and
// what it acknowledges from now on is on no other server. One of these replicas is
// the next leader.
func (c *Cluster) CutReplicas() error {
	leader, err := c.awaitLeader()
	if err != nil {
		return err
	}
	return c.kind.cutReplicas(leader)
}

// Failover returns when the cluster has another leader than the one that was
// broken.
func (c *Cluster) Failover() error { return c.kind.failover(c.present()) }

// Heal undoes the fault, and returns when the cluster could stand another one.
func (c *Cluster) Heal() error {
	c.mu.Lock()
	f, broken := c.fault, c.broken
	c.fault, c.broken = "", nil
	c.mu.Unlock()
	return c.kind.heal(f, broken)
}

// Whole returns when all members follow one leader.
func (c *Cluster) Whole() error { return c.await(wholeTimeout, "a whole cluster", c.kind.whole) }

// revive lets a member run again that was killed or frozen.
func revive(s *testserver.Server) error {
	s.Resume()
	if s.Running() {
		return nil
	}
	return s.Start()
}

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

func (c *Cluster) await(timeout time.Duration, what string, ready func() error) error {
	if err := testserver.Await(timeout, ready); err != nil {
		return fmt.Errorf("testcluster: want %s, not there after %v: %w; the end of its members' logs:\n%s", what, timeout, err, c.logTails())
	}
	return nil
}

func (c *Cluster) all() []*testserver.Server { return slices.Concat(c.members, c.others) }

func (c *Cluster) logTails() string {
	var text strings.Builder
	for _, s := range c.all() {
		fmt.Fprintf(&text, "-- %s:\n%s\n", s.Address(), s.LogTail())
	}
	return text.String()
}

// start makes clusters until all their ports were free.
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
		_ = together(c.all(), kill)
	}
	t.Fatal(err)
	return nil
}

// place gives n servers of an engine their ports and folders.
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

// create starts servers together: some answer only once most of them run.
func create(servers []*testserver.Server) error {
	return together(servers, (*testserver.Server).Create)
}

func kill(s *testserver.Server) error {
	s.Kill()
	return nil
}

func together(servers []*testserver.Server, do func(*testserver.Server) error) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
