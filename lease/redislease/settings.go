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
)

const (
	// wantPolicy is the only maxmemory-policy under which the server deletes (evicts) no key
	// when its memory is full. notShown stands for a setting that the server does not show to
	// the client's user.
	wantPolicy, notShown = "noeviction", "not shown"

	// checkEvery is how long the store relies on the settings that it has read, unless
	// another server answers or a write is not on the server's disk; see markStale.
	checkEvery = 5 * time.Minute
)

// settings are the settings of a server that decide whether it forgets writes. A setting
// that the server does not show is notShown.
type settings struct {
	// The values of maxmemory-policy, appendonly, appendfsync and no-appendfsync-on-rewrite.
	policy, appendonly, appendfsync, onRewrite string

	waits bool // the command WAITAOF works, by which the server reports when a write is on its disk
}

// settingsOf reads the settings with INFO and with CONFIG GET, because hosted servers often
// refuse CONFIG, and some other servers lack INFO. It ignores the refusal of a command, after
// which a setting may be notShown.
func settingsOf(ctx context.Context, server redis.UniversalClient) (settings, error) {
	info, err := server.Info(ctx).Result()
	if err != nil && !refused(err) {
		return settings{}, err
	}
	all := map[string]string{} // values by name, as INFO and CONFIG write it
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
		appendonly:  cmp.Or(all["appendonly"], map[string]string{"0": "no", "1": "yes"}[all["aof_enabled"]], notShown), // from CONFIG, or from INFO
		appendfsync: cmp.Or(all["appendfsync"], notShown),
		onRewrite:   cmp.Or(all["no-appendfsync-on-rewrite"], notShown),
	}
	if now.alwaysSyncs() { // otherwise, under everysec, some servers answer WAITAOF before the write is on disk
		err = server.Do(ctx, "WAITAOF", 0, 0, 0).Err() // waits for no disk, only to see whether the command works
		now.waits = err == nil
	}
	if refused(err) { // the server lacks WAITAOF, or does not allow it
		err = nil
	}
	return now, err
}

// evictionError returns an error if the server deletes keys when its memory is full. It returns
// nil if the policy is not shown, for which checkServer only logs a warning.
func (s settings) evictionError() error {
	if s.policy == notShown || s.policy == wantPolicy {
		return nil
	}
	return fmt.Errorf("maxmemory-policy is %q: want %q: a worker whose record is evicted would be given out twice: "+
		"CONFIG SET maxmemory-policy %s, or use another server", s.policy, wantPolicy, wantPolicy)
}

// alwaysSyncs reports whether the server writes every change to its disk before it answers,
// except while it saves or rewrites its file. During a save or rewrite, onRewrite decides,
// which alwaysSyncs does not check.
func (s settings) alwaysSyncs() bool { return s.appendonly == "yes" && s.appendfsync == "always" }

// refused reports whether the server has answered that it does not support the command
// (ERR), or does not allow it to this user (NOPERM).
func refused(err error) bool {
	var redisErr redis.Error
	if !errors.As(err, &redisErr) || redis.IsMaxClientsError(err) { // too many clients is ERR too, but temporary
		return false
	}
	code, _, _ := strings.Cut(redisErr.Error(), " ")
	return code == "NOPERM" || code == "ERR"
}
