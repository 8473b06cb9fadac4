package redislease_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// The machine of the server loses power. Under each setting the server must keep every
// acknowledged write, or the store must have warned of the setting.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		service  string
		settings []string
		started  func(*redis.Client) // called after each start; may be nil
		want     storetest.Durability
		long     bool // tested only in the long form
	}{
		{"always", "redis", durable, nil, storetest.Durable, false},
		{"Valkey, always", "valkey", durable, nil, storetest.Durable, false},
		{"everysec", "redis", []string{"--appendonly yes", "--appendfsync everysec"}, nil, storetest.Warned, false},
		{
			"always, but not while saving", "redis", append([]string{"--no-appendfsync-on-rewrite yes"}, durable...), saveForLong,
			storetest.Warned, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.long && !storetest.Long() {
				t.Skip("set GORMFLAKE_TEST_TORTURE=long")
			}
			server, disk := testserver.OnDisk(t, test.service, nil, test.settings...) // nil changes nothing in the engine
			p := storetest.PowerLoss{Setting: test.want, Disk: disk, Server: server, Open: dialLogging}
			if test.started != nil {
				p.Started = func() { test.started(clientOf(t, server)) }
			}
			storetest.LosesPower(t, p)
		})
	}
}

// saveForLong begins a save that takes longer than the test.
func saveForLong(client *redis.Client) {
	ctx := context.Background()
	client.Eval(ctx, `for i = 1, 100 do redis.call("SET", "k" .. i, i) end`, nil)
	client.ConfigSet(ctx, "rdb-key-save-delay", "1000000")
	client.BgSave(ctx)
}

// dialLogging returns a dialer of stores that log to log. It ignores the second
// argument, because the store only warns of the settings here.
func dialLogging(log *slog.Logger, _ bool) leasetest.Dialer {
	return func(_ context.Context, url, namespace string) (lease.Store, func(), error) {
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, nil, err
		}
		client := redis.NewClient(options)
		return redislease.New(client, redislease.WithNamespace(namespace), redislease.WithLogger(log)), func() { client.Close() }, nil
	}
}
