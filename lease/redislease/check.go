package redislease

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// connectTimeout limits the first read of a process, which also opens a connection.
// settingsTimeout limits the commands that read the settings.
const (
	connectTimeout  = 5 * time.Second
	settingsTimeout = 10 * time.Second
)

// Connect implements [lease.Connector]. It reads the settings if they were never read, so
// that the first call of a lease need not do that within the time of one call. The store
// that it returns still takes a connection from the client's pool for each call.
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

// checkFirst reads the settings of the server that answers.
func (s *store) checkFirst(ctx context.Context) error {
	reading, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	a, err := s.read(reading, -1) // for the run ID
	if err != nil {
		return err
	}
	checking, cancelCheck := context.WithTimeout(ctx, settingsTimeout)
	defer cancelCheck()
	return s.check(checking, a.server)
}

// Check reads the settings again, and fails if a server evicts keys or does not answer. It
// makes the store a [lease.Checker].
func (s *store) Check(ctx context.Context) error { return s.check(ctx, s.doubt()) }

// doubt marks the settings as stale, so that the next call reads them again. It returns the
// server from which they were read.
func (s *store) doubt() (server string) {
	if last := s.lastCheck.Load(); last != nil {
		server = last.server
		s.lastCheck.Store(&lastCheck{server: server})
	}
	return server
}

// stale reports whether to read the settings again, because they are older than
// checkEvery, or because another server has answered. The argument is the run ID of the
// server that has answered.
func (s *store) stale(server string) bool {
	last := s.lastCheck.Load()
	return last == nil || last.server != server || time.Since(last.at) > checkEvery
}

// check reads the settings if they are stale. Concurrent calls wait for one call that reads.
// The argument is the run ID of the server that has answered.
func (s *store) check(ctx context.Context, server string) error {
	_, err := stores.Call(ctx, s.Server, "check the server", func(ctx context.Context) (struct{}, error) {
		s.checkMu.Lock()
		defer s.checkMu.Unlock()
		return struct{}{}, s.refresh(ctx, server)
	})
	return err
}

// refresh reads the settings if they are stale. The argument is the run ID of the server that
// has answered. The caller holds checkMu.
func (s *store) refresh(ctx context.Context, server string) error {
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

// checkServer returns an error if a server evicts keys. If the settings have changed
// since it last read them, it also logs a warning if the server evicts keys, may forget
// in a crash, or does not show its settings. It does not log the first time that it reads
// the settings of a server, if this evicts keys, because then the store refuses to work,
// with this error.
func (s *store) checkServer(ctx context.Context, server redis.UniversalClient, address string) error {
	now, err := settingsOf(ctx, server)
	if err != nil {
		return err
	}
	before, known := s.lastSettings.Swap(address, now)
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
