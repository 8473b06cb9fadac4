package redislease

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease/internal/remote"
)

const wantPolicy = "noeviction"

// errUnseen is the answer of a server that does not show a setting.
var errUnseen = errors.New("redislease: the server does not show its settings")

// check fails if a server evicts keys, or cannot be asked. It warns, once, of
// one that may forget in a crash, and of one that shows its settings to nobody.
func (s *store) check(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	_, err := remote.Await(ctx, func() (struct{}, error) { return struct{}{}, s.checkAll(ctx) })
	if err != nil {
		return fmt.Errorf("redislease: check the server: %w", err)
	}
	s.checked.Store(true)
	return nil
}

// checkAll checks every master that may come to own the key.
func (s *store) checkAll(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.checkServer(ctx, master)
		})
	}
	return s.checkServer(ctx, s.client)
}

func (s *store) checkServer(ctx context.Context, server redis.Cmdable) error {
	policy, err := setting(ctx, server, "memory", "maxmemory_policy", "maxmemory-policy")
	switch {
	case errors.Is(err, errUnseen):
		s.unseenOnce.Do(func() {
			s.log.WarnContext(ctx, "redislease: cannot see whether the server evicts keys: leases are safe only with noeviction",
				"setting", "maxmemory-policy", "want", wantPolicy, "fix", "allow INFO or CONFIG GET to the user")
		})
	case err != nil:
		return err
	case policy != wantPolicy:
		return fmt.Errorf("maxmemory-policy is %q: want %q: a worker whose record is evicted would be given out twice: "+
			"CONFIG SET maxmemory-policy %s, or use another server", policy, wantPolicy, wantPolicy)
	}
	return s.checkDurability(ctx, server)
}

func (s *store) checkDurability(ctx context.Context, server redis.Cmdable) error {
	appending, err := setting(ctx, server, "persistence", "aof_enabled", "appendonly")
	if err != nil && !errors.Is(err, errUnseen) {
		return err
	}
	fsync, err := setting(ctx, server, "", "", "appendfsync")
	if err != nil && !errors.Is(err, errUnseen) {
		return err
	}
	if appending != "1" && appending != "yes" || fsync != "always" {
		s.warnOnce.Do(func() {
			s.log.WarnContext(ctx, "redislease: the server may forget leases in a crash: use lease.WithSettle with one window, "+
				"or set appendonly yes and appendfsync always",
				"appendonly", shown(appending), "appendfsync", shown(fsync))
		})
	}
	return nil
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
// refuse the latter, and some other servers lack the former.
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
	if value, ok := values[parameter]; ok {
		return value, nil
	}
	return "", errUnseen
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
