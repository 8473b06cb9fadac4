package redislease

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// connectTimeout limits the first read of a process, which also opens a connection to the
// server. settingsTimeout limits the commands that read the settings.
const (
	connectTimeout  = 5 * time.Second
	settingsTimeout = 10 * time.Second
)

// Connect implements [lease.Connector]. If the server's settings were never read, Connect
// checks them, because the first call of a lease may have too little time for the check.
// Connect returns the store itself, which still takes a connection from the client's pool for
// each call.
func (s *store) Connect(ctx context.Context) (lease.Store, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if s.lastCheck.Load() == nil {
		if err := s.checkFirst(ctx); err != nil {
			return nil, nil, err
		}
	}
	return s, func() {}, nil
}

// checkFirst checks the settings for the first time. It first reads the run ID of the server
// that answers, which ensureChecked remembers.
func (s *store) checkFirst(ctx context.Context) error {
	reading, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	a, err := s.read(reading, -1) // the layout's record, because the answer contains the run ID
	if err != nil {
		return err
	}
	checking, cancelCheck := context.WithTimeout(ctx, settingsTimeout)
	defer cancelCheck()
	return s.ensureChecked(checking, a.server)
}

// Check implements [lease.Checker]. It reads the settings again, and returns an error if a
// server evicts keys or does not answer.
func (s *store) Check(ctx context.Context) error { return s.ensureChecked(ctx, s.markStale()) }

// markStale makes the next Get or Now of the store read the settings again. It returns the run
// ID of the server that had answered when the settings were last read, or "" if they were
// never read.
func (s *store) markStale() (server string) {
	if last := s.lastCheck.Load(); last != nil {
		server = last.server
		s.lastCheck.Store(&lastCheck{server: server})
	}
	return server
}

// stale reports whether to read the settings again, because they were never read, were read
// longer ago than checkEvery, or were read from another server. The argument is the run ID of
// the server that has answered last.
func (s *store) stale(server string) bool {
	last := s.lastCheck.Load()
	return last == nil || last.server != server || time.Since(last.at) > checkEvery
}

// ensureChecked reads the settings if they are stale, and returns an error if a server evicts
// keys. Concurrent calls wait for one call that reads. The argument is the run ID of the server
// that has answered.
func (s *store) ensureChecked(ctx context.Context, server string) error {
	_, err := stores.Call(ctx, s.Server, "check the server", func(ctx context.Context) (struct{}, error) {
		s.checkMu.Lock()
		defer s.checkMu.Unlock()
		return struct{}{}, s.ensureCheckedLocked(ctx, server)
	})
	return err
}

// ensureCheckedLocked does the work of ensureChecked. The caller holds checkMu.
func (s *store) ensureCheckedLocked(ctx context.Context, server string) error {
	if !s.stale(server) {
		return nil
	}
	err := s.checkServers(ctx)
	if err == nil {
		s.lastCheck.Store(&lastCheck{time.Now(), server})
	}
	return err
}

// checkServers checks the server, or in a cluster every master, because any of them may
// come to own the key.
func (s *store) checkServers(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.checkServer(ctx, master, master.Options().Addr)
		})
	}
	return s.checkServer(ctx, s.client, "")
}

// checkServer reads the settings of a server, and returns an error if the server evicts keys.
// address is the key of these settings in lastSettings.
//
// At the first read of a server's settings, and whenever they have changed since the last read,
// checkServer also logs warnings. It warns of a server that evicts keys, may forget writes in a
// crash, or does not show its settings. At the first read it does not log about a server that
// evicts keys, because the caller then gets the error, and the store refuses to work.
func (s *store) checkServer(ctx context.Context, server redis.UniversalClient, address string) error {
	now, err := settingsOf(ctx, server)
	if err != nil {
		return err
	}
	before, known := s.lastSettings.Swap(address, now)
	evicting := now.evictionError()
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
	if !now.alwaysSyncs() || now.onRewrite != "no" {
		s.log.WarnContext(ctx, "redislease: the server may forget leases in a crash: use lease.WithSettle with one window, "+
			"or set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no",
			"appendonly", now.appendonly, "appendfsync", now.appendfsync, "no-appendfsync-on-rewrite", now.onRewrite)
	}
	return evicting
}
