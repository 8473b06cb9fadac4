package testcluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// A postgres cluster is a primary with a synchronous standby and an asynchronous
// one, and their operator. Which of its hosts is the primary changes.
type postgres struct {
	*Cluster
	settings []string
	hosts    []*host
	primary  *host
	sync     *host
	async    *host
	lagging  bool // the asynchronous standby is the next primary
}

// A host has an address of its own, whichever server it runs.
type host struct {
	front    *testserver.Proxy // what clients connect to
	server   *testserver.Server
	upstream *testserver.Proxy // to the primary, from a standby
}

// Postgres starts a PostgreSQL primary with a synchronous and an asynchronous
// standby. Settings are those of [testserver.Postgres], on every server. The URL
// names all hosts, for clients that look for the primary; parameters follow it
// after an ampersand. A failover goes to the synchronous standby, and after
// [Cluster.CutReplicas] to the other one. A leader that is cut off is so for its
// clients, too, and none comes back: when the cluster heals, new copies of the
// primary replace what is lost.
func Postgres(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return start(t, func(c *Cluster) error {
		p := &postgres{Cluster: c, settings: append([]string{"wal_keep_size=1GB"}, settings...)} // for standbys that were cut off
		c.kind = p
		return p.build()
	})
}

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

func (p *postgres) cutReplicas(*testserver.Server) error {
	p.async.upstream.Lose()
	p.lagging = true
	return nil
}

// failover promotes a standby in place of a primary that is lost. The new one waits
// for no standby until it has one, as a cluster's manager has it.
func (p *postgres) failover(f Fault, broken *testserver.Server) error {
	if f == StandbyCutOff || p.primary.server != broken {
		return nil
	}
	next := p.sync
	if p.lagging {
		next = p.async
	}
	if err := next.server.Promote(); err != nil {
		return err
	}
	if err := next.set("synchronous_standby_names", ""); err != nil {
		return err
	}
	p.primary, p.lagging = next, false
	return nil
}

func (p *postgres) heal(f Fault, broken *testserver.Server) error {
	switch f {
	case "":
		return nil
	case StandbyCutOff:
		p.sync.upstream.Pass()
		p.sync.upstream.Lead(p.primary.server.Address()) // what has lost an answer stays mute
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

// clone gives a host a copy of the primary that follows it.
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

// run makes a server the one that clients of the host reach.
func (h *host) run(s *testserver.Server) {
	h.server = s
	h.front.Pass()
	h.front.Lead(s.Address())
}

// waitForSync has commits wait for the synchronous standby, once it follows. When a
// new session shows the setting, the server has read it; after a checkpoint, the
// checkpointer, which announces it to all sessions, has read it too.
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

func (p *postgres) streams(name string) error {
	n, err := p.primary.server.Query("SELECT count(*) FROM pg_stat_replication WHERE application_name = '" + name + "' AND state = 'streaming'")
	if err == nil && n != "1" {
		return fmt.Errorf("the standby %s does not stream", name)
	}
	return err
}

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

func (h *host) set(setting, value string) error {
	for _, statement := range []string{fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", setting, value), "SELECT pg_reload_conf()"} {
		if _, err := h.server.Query(statement); err != nil {
			return err
		}
	}
	return nil
}
