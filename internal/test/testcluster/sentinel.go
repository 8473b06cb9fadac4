package testcluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// SentinelMaster is the sentinels' name of the master that they watch.
const SentinelMaster = "store"

// sentinelDown is the number of milliseconds after which a sentinel regards a server as
// down.
const sentinelDown = "500"

// RedisSentinel starts a Redis master, two replicas and three sentinels. The URLs are the
// sentinels' addresses.
func RedisSentinel(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return startSentinel(t, "redis", settings)
}

// ValkeySentinel starts a Valkey master, two replicas and three sentinels. The URLs are
// the sentinels' addresses.
func ValkeySentinel(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return startSentinel(t, "valkey", settings)
}

func startSentinel(t testing.TB, service string, settings []string) *Cluster {
	t.Helper()
	return startElected(t, service, func(c *electingCluster, e testserver.Engine) error { return c.buildSentinel(e, settings) })
}

// buildSentinel starts a master with two replicas, each behind a gate, and then the sentinels
// that watch them. A sentinel is the server's own program in another mode.
func (c *electingCluster) buildSentinel(e testserver.Engine, settings []string) (err error) {
	if c.members, err = c.place(3, e, settings...); err != nil {
		return err
	}
	gates := map[*testserver.Server]net.Listener{}
	for i, s := range c.members {
		if gates[s], err = c.mesh.gate(s, "127.0.0.1:0", s.Address()); err != nil {
			return err
		}
		s.Configure("--replica-announce-ip 127.0.0.1", "--replica-announce-port "+portOf(gates[s]), "--repl-diskless-sync-delay 0")
		if i > 0 {
			s.Configure("--replicaof 127.0.0.1 " + portOf(gates[c.members[0]]))
		}
	}
	watcher := e
	watcher.SetUp = func(s *testserver.Server) error {
		return errors.Join(e.SetUp(s), setUpSentinel(s, portOf(gates[c.members[0]])))
	}
	watcher.Args = func(s *testserver.Server) []string { return []string{sentinelConf(s), "--sentinel"} }
	if c.others, err = c.place(3, watcher); err != nil {
		return err
	}
	for _, s := range c.others {
		c.urls = append(c.urls, s.Address())
	}
	c.leads = func(s *testserver.Server) bool { return c.electedPort() == portOf(gates[s]) && roleOf(s) == "master" }
	c.ready, c.isWhole = c.readyRedis, func() error { return c.wholeSentinel(gates) }
	if err := create(c.members); err != nil {
		return err
	}
	return create(c.others)
}

func sentinelConf(s *testserver.Server) string { return s.File("sentinel.conf") }

// setUpSentinel writes the configuration of a sentinel. Two of the three sentinels must
// agree that the master, on the port master, is down.
func setUpSentinel(s *testserver.Server, master string) error {
	_, port, err := net.SplitHostPort(s.Address())
	if err != nil {
		return err
	}
	lines := []string{
		"port " + port, "bind 127.0.0.1", "dir " + s.Data(),
		"sentinel monitor " + SentinelMaster + " 127.0.0.1 " + master + " 2",
		"sentinel down-after-milliseconds " + SentinelMaster + " " + sentinelDown,
		"sentinel failover-timeout " + SentinelMaster + " 3000",
	}
	return os.WriteFile(sentinelConf(s), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// electedPort returns the port of the master that most sentinels name.
func (c *electingCluster) electedPort() string {
	votes := map[string]int{}
	for _, s := range c.others {
		reply, _ := askRedis(s, "SENTINEL GET-MASTER-ADDR-BY-NAME "+SentinelMaster)
		if _, port, found := strings.Cut(reply, "\n"); found { // the host is the line before the port
			votes[port]++
		}
	}
	for port, n := range votes {
		if n > len(c.others)/2 {
			return port
		}
	}
	return ""
}

// wholeSentinel returns an error unless the master has its replicas, and the sentinels
// know them and each other.
func (c *electingCluster) wholeSentinel(gates map[*testserver.Server]net.Listener) error {
	electedPort := c.electedPort()
	for _, s := range c.members {
		if err := checkRole(s, portOf(gates[s]) == electedPort, electedPort, len(c.members)-1); err != nil {
			return err
		}
	}
	for _, s := range c.others {
		reply, _ := askRedis(s, "INFO sentinel")
		if want := "status=ok,address=127.0.0.1:" + electedPort + ",slaves=2,sentinels=3"; !strings.Contains(reply, want) {
			return fmt.Errorf("sentinel: %q, want %s", reply, want)
		}
	}
	return nil
}
