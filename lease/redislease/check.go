package redislease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease/internal/remote"
)

const wantPolicy = "noeviction"

// lookEvery is how long settings are believed that nothing calls into question.
const lookEvery = 5 * time.Minute

// A look is when the settings were read, and the ID of the server that keeps the
// records.
type look struct {
	at     time.Time
	server string
}

// Check implements [lease.Checker]: it fails if a server evicts keys, or cannot be
// asked.
func (s *store) Check(ctx context.Context) error {
	var again look
	if last := s.looked.Load(); last != nil {
		again.server = last.server
		s.looked.Store(&again)
	}
	return s.check(ctx, again.server)
}

// stale reports whether the settings are to be read again: after a while, and
// where another server answers.
func (s *store) stale(server string) bool {
	last := s.looked.Load()
	return last == nil || last.server != server || time.Since(last.at) > lookEvery
}

// check reads the settings if they are stale, for one call in place of all.
func (s *store) check(ctx context.Context, server string) error {
	if s.err != nil {
		return s.err
	}
	_, err := remote.Await(ctx, func() (none struct{}, err error) {
		s.lookMu.Lock()
		defer s.lookMu.Unlock()
		if !s.stale(server) {
			return none, nil
		}
		if err = s.lookAtAll(ctx); err == nil {
			s.looked.Store(&look{time.Now(), server})
		}
		return none, err
	})
	if err != nil {
		return fmt.Errorf("redislease: check the server: %w", err)
	}
	return nil
}

// lookAtAll checks every master that may come to own the key.
func (s *store) lookAtAll(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.lookAt(ctx, master, master.Options().Addr)
		})
	}
	return s.lookAt(ctx, s.client, "")
}

// lookAt fails if a server evicts keys, and warns where its settings are not what
// they were.
func (s *store) lookAt(ctx context.Context, server redis.Cmdable, address string) error {
	now, err := settingsOf(ctx, server)
	if err != nil {
		return err
	}
	evicting := now.evicting()
	switch before, known := s.seen.Swap(address, now); {
	case before == now:
	case evicting == nil:
		s.warn(ctx, now)
	case known:
		s.log.WarnContext(ctx, "redislease: "+evicting.Error())
	}
	return evicting
}

// warn warns of a server that may forget in a crash, and of one that shows its
// settings to nobody.
func (s *store) warn(ctx context.Context, now settings) {
	if now.policy == "" {
		s.log.WarnContext(ctx, "redislease: cannot see whether the server evicts keys: leases are safe only with noeviction",
			"setting", "maxmemory-policy", "want", wantPolicy, "fix", "allow INFO or CONFIG GET to the user")
	}
	if !now.durable() {
		s.log.WarnContext(ctx, "redislease: the server may forget leases in a crash: use lease.WithSettle with one window, "+
			"or set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no",
			"appendonly", shown(now.appendonly), "appendfsync", shown(now.appendfsync), "no-appendfsync-on-rewrite", shown(now.onRewrite))
	}
}

// settings are those of a server that decide whether it forgets; "" where it does
// not show one.
type settings struct{ policy, appendonly, appendfsync, onRewrite string }

func settingsOf(ctx context.Context, server redis.Cmdable) (now settings, err error) {
	now.policy, err = setting(ctx, server, "memory", "maxmemory_policy", "maxmemory-policy")
	if err == nil {
		now.appendonly, err = setting(ctx, server, "persistence", "aof_enabled", "appendonly")
	}
	if err == nil {
		now.appendfsync, err = setting(ctx, server, "", "", "appendfsync")
	}
	if err == nil {
		now.onRewrite, err = setting(ctx, server, "", "", "no-appendfsync-on-rewrite")
	}
	return now, err
}

func (s settings) evicting() error {
	if s.policy == "" || s.policy == wantPolicy {
		return nil
	}
	return fmt.Errorf("maxmemory-policy is %q: want %q: a worker whose record is evicted would be given out twice: "+
		"CONFIG SET maxmemory-policy %s, or use another server", s.policy, wantPolicy, wantPolicy)
}

func (s settings) durable() bool {
	return shown(s.appendonly) == "yes" && s.appendfsync == "always" && s.onRewrite == "no"
}

func shown(setting string) string {
	switch setting {
	case "":
		return "not shown"
	case "0":
		return "no"
	case "1":
		return "yes"
	}
	return setting
}

// setting reads a field of INFO, or a parameter of CONFIG: hosted servers often
// refuse the latter, and some other servers lack the former. It is "" where neither
// shows it.
func setting(ctx context.Context, server redis.Cmdable, section, field, parameter string) (string, error) {
	if section != "" {
		info, err := server.Info(ctx, section).Result()
		if err != nil && !refused(err) {
			return "", err
		}
		for line := range strings.Lines(info) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == field {
				return value, nil
			}
		}
	}
	values, err := server.ConfigGet(ctx, parameter).Result()
	if err != nil && !refused(err) {
		return "", err
	}
	return values[parameter], nil
}

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
