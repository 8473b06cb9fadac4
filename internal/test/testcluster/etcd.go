package testcluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// Etcd starts an etcd cluster of three members, with etcd's default timeouts.
func Etcd(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return startElected(t, "etcd", func(c *electingCluster, e testserver.Engine) error { return c.buildEtcd(e, settings) })
}

// buildEtcd places three members, gives each a gate to which the other members connect, and
// starts them.
func (c *electingCluster) buildEtcd(e testserver.Engine, settings []string) (err error) {
	if c.members, err = c.place(3, e); err != nil {
		return err
	}
	var initial []string
	for i, s := range c.members {
		port, err := testserver.FreePort()
		if err != nil {
			return err
		}
		gate, err := c.mesh.gate(s, "127.0.0.1:0", address(port))
		if err != nil {
			return err
		}
		s.Configure("--name="+etcdName(i), "--heartbeat-interval=100", "--election-timeout=1000",
			"--listen-peer-urls=http://"+address(port), "--initial-advertise-peer-urls=http://"+gate.Addr().String())
		initial = append(initial, etcdName(i)+"=http://"+gate.Addr().String())
		c.urls = append(c.urls, s.URL())
	}
	for _, s := range c.members {
		s.Configure("--initial-cluster=" + strings.Join(initial, ","))
		s.Configure(settings...)
	}
	c.leads, c.ready, c.isWhole = leadsEtcd, c.wholeEtcd, c.wholeEtcd
	return create(c.members)
}

func etcdName(i int) string { return fmt.Sprintf("member%d", i+1) }

// etcdStatus is the status that a member reports. Numbers of 64 bits are strings in it.
type etcdStatus struct {
	Header struct {
		Member string `json:"member_id"`
	} `json:"header"`
	Leader string `json:"leader"`
	Index  string `json:"raftIndex"`
}

// etcdStatusOf asks a member for its status.
func etcdStatusOf(s *testserver.Server) (status etcdStatus, err error) {
	client := http.Client{Timeout: askTimeout}
	response, err := client.Post(s.URL()+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
	if err != nil {
		return status, err
	}
	defer func() { _ = response.Body.Close() }()
	return status, json.NewDecoder(response.Body).Decode(&status)
}

// leadsEtcd reports whether the member says that it leads.
func leadsEtcd(s *testserver.Server) bool {
	status, err := etcdStatusOf(s)
	return err == nil && status.Leader != "" && status.Leader == status.Header.Member
}

// wholeEtcd returns an error unless all members follow the same leader and answer.
func (c *electingCluster) wholeEtcd() error {
	leaders := map[string]bool{}
	for _, s := range c.members {
		status, err := etcdStatusOf(s)
		if err != nil {
			return err
		}
		if status.Leader == "" {
			return fmt.Errorf("%s has no leader", s.Address())
		}
		if err := s.Answers(); err != nil {
			return err
		}
		leaders[status.Leader] = true
	}
	if len(leaders) != 1 {
		return fmt.Errorf("%d leaders", len(leaders))
	}
	return nil
}
