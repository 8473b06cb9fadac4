package redislease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease/internal/stores"
)

const (
	wantPolicy, notShown = "noeviction", "not shown"

	// lookEvery is how long settings are believed that nothing calls into question.
	lookEvery = 5 * time.Minute
)

// looked is when the settings were read, and the server that kept the records then.
type looked struct {
	at     time.Time // zero: they are to be read again
	server string
}

// Check implements [lease.Checker]: it fails if a server evicts keys, or cannot be
// asked.
func (s *store) Check(ctx context.Context) error { return s.check(ctx, s.doubt()) }

// doubt makes the settings stale. It returns the server that they are of.
func (s *store) doubt() (server string) {
	if last := s.looked.Load(); last != nil {
		server = last.server
		s.looked.Store(&looked{server: server})
	}
	return server
}

// stale reports whether the settings are to be read again: after a while, and
// where another server answers.
func (s *store) stale(server string) bool {
	last := s.looked.Load()
	return last == nil || last.server != server || time.Since(last.at) > lookEvery
}

// check reads the settings if they are stale, in one call for all that wait.
func (s *store) check(ctx context.Context, server string) error {
	_, err := stores.Call(ctx, s.Server, "check the server", func(ctx context.Context) (struct{}, error) {
		s.lookMu.Lock()
		defer s.lookMu.Unlock()
		return struct{}{}, s.refresh(ctx, server)
	})
	return err
}

// refresh is for the holder of lookMu.
func (s *store) refresh(ctx context.Context, server string) error {
	if !s.stale(server) {
		return nil
	}
	err := s.look(ctx)
	if err == nil {
		s.looked.Store(&looked{time.Now(), server})
	}
	return err
}

// look checks every master that may come to own the key.
func (s *store) look(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.lookAt(ctx, master, master.Options().Addr)
		})
	}
	return s.lookAt(ctx, s.client, "")
}

// lookAt fails if a server evicts keys, and warns where its settings are not what
// they were, if it may forget in a crash or shows its settings to nobody.
func (s *store) lookAt(ctx context.Context, server redis.UniversalClient, address string) error {
	now, err := settingsOf(ctx, server)
	if err != nil {
		return err
	}
	before, known := s.seen.Swap(address, now)
	evicting := now.evicting()
	if before == now || evicting != nil && !known {
		return evicting
	}
	switch {
	case evicting != nil:
		s.log.WarnContext(ctx, "redislease: "+evicting.Error())
	case now.policy == notShown:
		s.log.WarnContext(ctx, "redislease: cannot see whether the server evicts keys: leases are safe only with noeviction",
			"setting", "maxmemory-policy", "want", wantPolicy, "fix", "allow INFO or CONFIG GET to the user")
	}
	if !now.always() || now.onRewrite != "no" {
		s.log.WarnContext(ctx, "redislease: the server may forget leases in a crash: use lease.WithSettle with one window, "+
			"or set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no",
			"appendonly", now.appendonly, "appendfsync", now.appendfsync, "no-appendfsync-on-rewrite", now.onRewrite)
	}
	return evicting
}

// settings are those of a server that decide whether it forgets.
type settings struct {
	policy, appendonly, appendfsync, onRewrite string
	waits                                      bool // it reports when its disk has a write
}

// settingsOf reads INFO and CONFIG: hosted servers often refuse the latter, and
// some other servers lack the former.
func settingsOf(ctx context.Context, server redis.UniversalClient) (settings, error) {
	info, err := server.Info(ctx).Result()
	if err != nil && !refused(err) {
		return settings{}, err
	}
	all := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		all[name] = value
	}
	for _, pattern := range []string{"maxmemory-policy", "*append*"} {
		values, err := server.ConfigGet(ctx, pattern).Result()
		if err != nil && !refused(err) {
			return settings{}, err
		}
		maps.Copy(all, values)
	}
	now := settings{
		policy:      cmp.Or(all["maxmemory_policy"], all["maxmemory-policy"], notShown),
		appendonly:  cmp.Or(all["appendonly"], map[string]string{"0": "no", "1": "yes"}[all["aof_enabled"]], notShown),
		appendfsync: cmp.Or(all["appendfsync"], notShown),
		onRewrite:   cmp.Or(all["no-appendfsync-on-rewrite"], notShown),
	}
	if now.always() { // under everysec, some servers answer before their disk has the write
		err = server.Do(ctx, "WAITAOF", 0, 0, 0).Err()
		now.waits = err == nil
	}
	if refused(err) {
		err = nil
	}
	return now, err
}

func (s settings) evicting() error {
	if s.policy == notShown || s.policy == wantPolicy {
		return nil
	}
	return fmt.Errorf("maxmemory-policy is %q: want %q: a worker whose record is evicted would be given out twice: "+
		"CONFIG SET maxmemory-policy %s, or use another server", s.policy, wantPolicy, wantPolicy)
}

func (s settings) always() bool { return s.appendonly == "yes" && s.appendfsync == "always" }

// refused reports whether the server has answered that it does not do this, to
// this user or at all.
func refused(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) || redis.IsMaxClientsError(err) {
		return false
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	return code == "NOPERM" || code == "ERR"
}
