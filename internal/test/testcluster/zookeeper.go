package testcluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// gateHost is the address on which the gates of a ZooKeeper ensemble listen.
const gateHost = "127.0.0.2"

// anyHost is the host that a server has for itself in its configuration. Because it is
// the wildcard, other servers connect to the address in their own configuration, which is
// a gate. With another host, the server would tell the other servers this host, and
// servers with a higher number would connect to it past the gate.
const anyHost = "0.0.0.0"

// zooPorts are a server's own ports, the first for followers and the second for elections,
// and the ports of their gates.
type zooPorts struct{ direct, gates [2]int }

// ZooKeeper starts a ZooKeeper ensemble of three servers.
func ZooKeeper(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return startElected(t, "zookeeper", func(c *electingCluster, e testserver.Engine) error { return c.buildZooKeeper(e, settings) })
}

// buildZooKeeper starts three servers, which reach each other by their gates.
func (c *electingCluster) buildZooKeeper(e testserver.Engine, settings []string) (err error) {
	single := e
	e.SetUp = func(s *testserver.Server) error { return errors.Join(single.SetUp(s), c.writeNumber(s)) }
	e.Args = func(s *testserver.Server) []string {
		return append([]string{"-Djava.net.preferIPv4Stack=true"}, single.Args(s)...)
	}
	ports := make([]zooPorts, 3)
	if c.members, err = c.place(len(ports), e, "initLimit=6", "syncLimit=4"); err != nil {
		return err
	}
	for i, s := range c.members {
		if ports[i], err = c.zooGates(s); err != nil {
			return err
		}
		c.urls = append(c.urls, s.URL())
	}
	for i, s := range c.members {
		s.Configure(slices.Concat(zooServers(i, ports), settings)...)
	}
	c.leads, c.ready, c.isWhole = leadsZooKeeper, c.wholeZooKeeper, c.wholeZooKeeper
	return create(c.members)
}

// zooGates returns free ports for a server, each with a gate.
func (c *electingCluster) zooGates(s *testserver.Server) (ports zooPorts, err error) {
	for i := range ports.direct {
		if ports.direct[i], err = testserver.FreePort(); err != nil {
			return ports, err
		}
		gate, err := c.mesh.gate(s, net.JoinHostPort(gateHost, "0"), address(ports.direct[i]))
		if err != nil {
			return ports, err
		}
		ports.gates[i] = gate.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// zooServers returns the configuration of all members for the member self.
func zooServers(self int, ports []zooPorts) (lines []string) {
	for i := range ports {
		host, p := gateHost, ports[i].gates
		if i == self {
			host, p = anyHost, ports[i].direct
		}
		lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", i+1, host, p[0], p[1]))
	}
	return lines
}

// writeNumber writes the number of a server among the members to its file myid.
func (c *electingCluster) writeNumber(s *testserver.Server) error {
	number := slices.Index(c.members, s) + 1
	return os.WriteFile(filepath.Join(s.Data(), "myid"), []byte(strconv.Itoa(number)), 0o600)
}

// zooMode returns the mode that a server reports, such as leader or follower.
func zooMode(s *testserver.Server) string {
	reply, _ := ask(s.Address(), "srvr", io.ReadAll)
	_, mode, _ := strings.Cut(string(reply), "Mode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

func leadsZooKeeper(s *testserver.Server) bool { return zooMode(s) == "leader" }

// wholeZooKeeper returns an error unless a member leads and all others follow.
func (c *electingCluster) wholeZooKeeper() error {
	modes := map[string]int{}
	for _, s := range c.members {
		modes[zooMode(s)]++
	}
	if modes["leader"] != 1 || modes["follower"] != len(c.members)-1 {
		return fmt.Errorf("modes %v", modes)
	}
	return nil
}
