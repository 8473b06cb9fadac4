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

	// lookEvery is how long the store relies on the settings that it has read, unless
	// another server answers or a write raises a doubt.
	lookEvery = 5 * time.Minute
)

// looked is the time at which the settings were read, and the server that was then in
// use.
type looked struct {
	at     time.Time // zero if they are to be read again
	server string
}

// Check implements [lease.Checker]. It fails if a server evicts keys or does not
// answer.
func (s *store) Check(ctx context.Context) error { return s.check(ctx, s.doubt()) }

// doubt marks the settings as stale. It returns the server from which they were read.
func (s *store) doubt() (server string) {
	if last := s.looked.Load(); last != nil {
		server = last.server
		s.looked.Store(&looked{server: server})
	}
	return server
}

// stale reports whether to read the settings again, because they are older than
// lookEvery or because another server answers.
func (s *store) stale(server string) bool {
	last := s.looked.Load()
	return last == nil || last.server != server || time.Since(last.at) > lookEvery
}

// check reads the settings if they are stale. Concurrent calls wait for one call that
// reads.
func (s *store) check(ctx context.Context, server string) error {
	_, err := stores.Call(ctx, s.Server, "check the server", func(ctx context.Context) (struct{}, error) {
		s.lookMu.Lock()
		defer s.lookMu.Unlock()
		return struct{}{}, s.refresh(ctx, server)
	})
	return err
}

// refresh reads the settings if they are stale. The caller holds lookMu.
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

// look checks the server, or in a cluster every master, because any of them may come to
// own the key.
func (s *store) look(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.lookAt(ctx, master, master.Options().Addr)
		})
	}
	return s.lookAt(ctx, s.client, "")
}

// lookAt returns an error if a server evicts keys. If the settings have changed since
// the last time, it also logs a warning if the server evicts keys, may forget in a
// crash, or does not show its settings. At the first time the error replaces the
// warning about evicted keys.
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

// settings are the settings of a server that decide whether it forgets writes.
type settings struct {
	policy, appendonly, appendfsync, onRewrite string
	waits                                      bool // the server reports when a write is on its disk
}

// settingsOf reads the settings with INFO and with CONFIG, because hosted servers often
// refuse CONFIG, and some other servers lack INFO.
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
	if now.always() { // under everysec, some servers answer before the write is on disk
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

// refused reports whether the server has answered that it does not support the command,
// or not for this user.
func refused(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) || redis.IsMaxClientsError(err) {
		return false
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	return code == "NOPERM" || code == "ERR"
}
