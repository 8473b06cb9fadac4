package testcluster

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// Faults of Patroni.
const (
	SwitchedOver  Fault = "switched over" // as an operator does on purpose
	StandbyKilled Fault = "standby killed"
)

// patroni is a cluster of PostgreSQL servers under Patroni, which stores the current
// leader in etcd. HAProxy forwards clients to the leader.
type patroni struct {
	*electingCluster
	settings []string
	etcd     *testserver.Server
	apis     []int // the ports of the members' REST interfaces
}

// Patroni starts two PostgreSQL servers under Patroni, and HAProxy, through which clients reach
// the leader. The URL has the address of HAProxy. Settings are lines of Patroni's dynamic
// configuration, such as "synchronous_mode: true".
func Patroni(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	testserver.Find(t, testserver.EngineOf("haproxy"))
	program := testserver.Find(t, testserver.EngineOf("postgres"))
	return startElected(t, "patroni", func(c *electingCluster, e testserver.Engine) error {
		p := &patroni{electingCluster: c, settings: settings, etcd: testserver.Etcd(t)}
		c.kind = p
		c.leads, c.ready, c.isWhole = p.isLeader, func() error { return p.follows("replica") }, p.hasReplacement
		return p.build(e, filepath.Dir(program))
	})
}

// build starts two members and then HAProxy. programs is the folder of PostgreSQL's programs.
func (p *patroni) build(e testserver.Engine, programs string) (err error) {
	for n := range 2 {
		api, err := testserver.FreePort()
		if err != nil {
			return err
		}
		e.SetUp = func(s *testserver.Server) error { return p.configure(s, n, api, programs) }
		e.Answers = func(*testserver.Server) error { return is(api, "health") }
		placed, err := p.place(1, e)
		if err != nil {
			return err
		}
		p.members, p.apis = append(p.members, placed...), append(p.apis, api)
	}
	if err := create(p.members); err != nil {
		return err
	}
	return p.buildProxy()
}

// patroniYAML is the configuration of a member. configure fills in the values %[1]d to %[8]s.
const patroniYAML = `scope: test
name: member%[1]d
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "127.0.0.1:%[2]d"}
etcd3: {host: "%[3]s"}
bootstrap:
  dcs:
    %[4]s
    postgresql: {use_pg_rewind: true, parameters: {shared_buffers: 16MB, wal_log_hints: "on", fsync: "off"}}
  initdb: [auth: trust, no-sync, data-checksums]
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
postgresql:
  listen: %[5]s
  connect_address: %[5]s
  data_dir: %[6]s
  bin_dir: %[7]s
  pgpass: %[8]s
  authentication: {replication: {username: postgres}, superuser: {username: postgres}, rewind: {username: postgres}}
  parameters: {unix_socket_directories: ""}
watchdog: {mode: "off"}
`

// configure writes the configuration with Patroni's smallest time to live, and with other
// times so short that Patroni replaces a leader soon.
func (p *patroni) configure(s *testserver.Server, n, api int, programs string) error {
	dynamic := append([]string{"ttl: 20", "loop_wait: 2", "retry_timeout: 5"}, p.settings...)
	text := fmt.Sprintf(patroniYAML, n, api, p.etcd.Address(), strings.Join(dynamic, "\n    "), s.Address(), s.Data(), programs, s.File("pgpass"))
	return os.WriteFile(s.File("patroni.yml"), []byte(text), 0o644) // the server's account reads it
}

// haproxyConfig is the configuration of HAProxy. By it, HAProxy checks each second which member
// leads, and closes the connections to a member that no longer leads.
const haproxyConfig = `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
listen postgres
  bind %s
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
  server member0 %s check port %d
  server member1 %s check port %d
`

// buildProxy starts HAProxy in front of both members.
func (p *patroni) buildProxy() error {
	e := testserver.EngineOf("haproxy")
	e.SetUp = func(s *testserver.Server) error {
		text := fmt.Sprintf(haproxyConfig, s.Address(), p.members[0].Address(), p.apis[0], p.members[1].Address(), p.apis[1])
		return os.WriteFile(s.File("haproxy.cfg"), []byte(text), 0o600)
	}
	placed, err := p.Cluster.place(1, e)
	if err != nil {
		return err
	}
	p.others = placed
	p.urls = []string{placed[0].URL() + "&connect_timeout=2"}
	return create(placed)
}

func (p *patroni) isLeader(s *testserver.Server) bool { return p.is(s, "primary") == nil }

// hasReplacement returns nil if Patroni would replace a lost leader.
func (p *patroni) hasReplacement() error {
	if slices.Contains(p.settings, "synchronous_mode: true") {
		return p.follows("synchronous")
	}
	return p.follows("replica")
}

// follows returns nil if there is a leader, and the other member is in the state, such as
// replica or synchronous.
func (p *patroni) follows(state string) error {
	leader := p.leader()
	if leader == nil {
		return testserver.ErrNotReady
	}
	return p.is(p.other(leader), state)
}

// other returns the member that is not s. A cluster has two members.
func (p *patroni) other(s *testserver.Server) *testserver.Server { return p.members[1-p.number(s)] }

// is returns nil if a member's REST interface reports the state.
func (p *patroni) is(s *testserver.Server, state string) error { return is(p.apis[p.number(s)], state) }

// number returns the number of the member in its name, member0 or member1.
func (p *patroni) number(s *testserver.Server) int { return slices.Index(p.members, s) }

// is returns nil if the REST interface on the port reports the state, such as primary,
// replica or synchronous.
func is(api int, state string) error {
	client := http.Client{Timeout: askTimeout}
	response, err := client.Get("http://" + address(api) + "/" + state)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %s", testserver.ErrNotReady, state, response.Status)
	}
	return nil
}

// inject switches over to the standby, or kills the standby.
func (p *patroni) inject(f Fault, leader *testserver.Server) error {
	switch f {
	case SwitchedOver:
		return p.post(leader, "switchover", fmt.Sprintf(`{"leader": "member%d"}`, p.number(leader)))
	case StandbyKilled:
		p.other(leader).Kill()
		return nil
	}
	return noFault(f)
}

// post sends a command to a member's REST interface.
func (p *patroni) post(s *testserver.Server, what, body string) error {
	client := http.Client{Timeout: leaderTimeout}
	response, err := client.Post("http://"+address(p.apis[p.number(s)])+"/"+what, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("testcluster: %s: %s: %s", what, response.Status, text)
	}
	return err
}

// cutReplicas stops the processes that send the leader's writes to the standby.
func (p *patroni) cutReplicas(leader *testserver.Server) error {
	_, err := leader.Query(`COPY (SELECT pid FROM pg_stat_replication) TO PROGRAM 'xargs kill -STOP'`)
	return err
}

// PromoteByHand makes a member of a Patroni cluster its leader, as an operator would who
// does not want to wait for the old leader.
func (c *Cluster) PromoteByHand(s *testserver.Server) error {
	p, ok := c.kind.(*patroni)
	if !ok {
		return errors.New("testcluster: only Patroni is told whom to promote")
	}
	return p.post(s, "failover", fmt.Sprintf(`{"candidate": "member%d"}`, p.number(s)))
}
