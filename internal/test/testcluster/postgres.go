package testcluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// postgres is a cluster of a primary, a synchronous standby and an asynchronous standby.
// The code also acts as their operator, which changes the host of the primary.
type postgres struct {
	*Cluster
	settings     []string
	hosts        []*host
	primary      *host
	sync         *host
	async        *host
	promoteAsync bool // the asynchronous standby is the next primary
}

// host has a fixed address, in front of the server that it runs now.
type host struct {
	front    *testserver.Proxy // the address for clients
	server   *testserver.Server
	upstream *testserver.Proxy // the connection from a standby to the primary
}

// Postgres starts a PostgreSQL primary with a synchronous and an asynchronous standby.
// Settings are like those of [testserver.Postgres] and apply to every server. The URL
// names all hosts, for clients that look for the primary. Clients add parameters after an
// ampersand.
//
// A failover promotes the synchronous standby or, after [Cluster.CutReplicas], the
// asynchronous standby. A leader that is cut off cannot reach its clients either. A lost
// server never returns. When the cluster heals, new copies of the primary replace lost
// servers.
func Postgres(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return start(t, func(c *Cluster) error {
		p := &postgres{Cluster: c, settings: append([]string{"wal_keep_size=1GB"}, settings...)} // for standbys that were cut off
		c.kind = p
		return p.build()
	})
}

// build starts the primary on the first host, and standbys on the others.
func (p *postgres) build() error {
	var fronts []string
	for range 3 {
		h := &host{front: testserver.NewProxy(p.t)}
		p.hosts = append(p.hosts, h)
		fronts = append(fronts, h.front.Address())
	}
	p.urls = []string{fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=1",
		strings.Join(fronts, ","))}
	p.primary = p.hosts[0]
	p.primary.run(testserver.Postgres(p.t, p.settings...))
	return p.rebuild()
}

func (p *postgres) leader() *testserver.Server { return p.primary.server }

// inject cuts off the leader, cuts off the synchronous standby, or demotes the leader. It cuts
// the leader off from its clients and standbys by dropping all replies, so that the connections
// stay open.
func (p *postgres) inject(f Fault, _ *testserver.Server) error {
	switch f {
	case CutOff:
		p.primary.front.Lose()
		p.sync.upstream.Lose()
		p.async.upstream.Lose()
	case StandbyCutOff:
		p.sync.upstream.Lose()
	case Demoted:
		return p.primary.set("default_transaction_read_only", "on")
	default:
		return noFault(f)
	}
	return nil
}

// cutReplicas cuts off the asynchronous standby, which a failover then promotes. The
// synchronous standby keeps following, so that commits do not wait.
func (p *postgres) cutReplicas(*testserver.Server) error {
	p.async.upstream.Lose()
	p.promoteAsync = true
	return nil
}

// failover promotes a standby in place of a lost primary. It does nothing if the primary is not
// lost, or was replaced already. The new primary commits without waiting for a standby until
// heal has added one, as a manager of clusters configures it.
func (p *postgres) failover(f Fault, broken *testserver.Server) error {
	if f == StandbyCutOff || p.primary.server != broken {
		return nil
	}
	next := p.sync
	if p.promoteAsync {
		next = p.async
	}
	if err := next.server.Promote(); err != nil {
		return err
	}
	if err := next.set("synchronous_standby_names", ""); err != nil {
		return err
	}
	p.primary, p.promoteAsync = next, false
	return nil
}

// heal removes the fault. If only the synchronous standby was cut off, heal connects it again.
// After other faults heal promotes a standby, unless a failover has done so, and replaces the
// lost server.
func (p *postgres) heal(f Fault, broken *testserver.Server) error {
	switch f {
	case "":
		return nil
	case StandbyCutOff:
		p.sync.upstream.Pass()
		p.sync.upstream.Lead(p.primary.server.Address()) // a connection that has lost an answer stays mute
		return nil
	}
	if err := p.failover(f, broken); err != nil {
		return err
	}
	return p.rebuild()
}

// rebuild makes the other hosts standbys of the primary, with new copies.
func (p *postgres) rebuild() error {
	p.sync, p.async = nil, nil
	p.members = []*testserver.Server{p.primary.server}
	for _, h := range p.hosts {
		switch {
		case h == p.primary:
		case p.sync == nil:
			p.sync = h
			p.clone(h, "sync")
		default:
			p.async = h
			p.clone(h, "async")
		}
	}
	return p.waitForSync()
}

// clone runs a copy of the primary on the host, which follows the primary.
func (p *postgres) clone(h *host, name string) {
	p.t.Helper()
	if h.server != nil {
		h.server.Kill()
	}
	h.upstream = testserver.NewProxy(p.t, p.primary.server.Address())
	settings := append([]string{"cluster_name=" + name, "wal_retrieve_retry_interval=100ms"}, p.settings...)
	h.run(testserver.PostgresStandby(p.t, h.upstream, settings...))
	p.members = append(p.members, h.server)
}

// run makes s the server that clients of the host reach.
func (h *host) run(s *testserver.Server) {
	h.server = s
	h.front.Pass()
	h.front.Lead(s.Address())
}

// waitForSync makes commits wait for the synchronous standby, after the standby follows.
// It then waits until a new session shows the setting, which means that the server has
// read it. A checkpoint ensures that the checkpointer, which announces the setting to all
// sessions, has read it too.
func (p *postgres) waitForSync() error {
	if err := p.await(wholeTimeout, "a standby that follows", func() error { return p.streams("sync") }); err != nil {
		return err
	}
	if err := p.primary.set("synchronous_standby_names", "sync"); err != nil {
		return err
	}
	if err := p.await(wholeTimeout, "a primary that waits for its standby", p.waits); err != nil {
		return err
	}
	_, err := p.primary.server.Query("CHECKPOINT")
	return err
}

// streams returns nil if the primary sends its writes to the standby of this name.
func (p *postgres) streams(name string) error {
	n, err := p.primary.server.Query("SELECT count(*) FROM pg_stat_replication WHERE application_name = '" + name + "' AND state = 'streaming'")
	if err == nil && n != "1" {
		return fmt.Errorf("the standby %s does not stream", name)
	}
	return err
}

// waits returns nil if the commits of the primary wait for the synchronous standby.
func (p *postgres) waits() error {
	name, err := p.primary.server.Query("SHOW synchronous_standby_names")
	if err == nil && name != "sync" {
		return testserver.ErrNotReady
	}
	return err
}

func (p *postgres) whole() error {
	return errors.Join(p.streams("sync"), p.streams("async"), p.waits())
}

// set changes a setting of the server that runs now.
func (h *host) set(setting, value string) error {
	for _, statement := range []string{fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", setting, value), "SELECT pg_reload_conf()"} {
		if _, err := h.server.Query(statement); err != nil {
			return err
		}
	}
	return nil
}
