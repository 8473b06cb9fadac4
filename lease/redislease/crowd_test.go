package redislease_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// Three hundred leases start at once, or ten thousand in the long form. They share forty
// connections. Each must get a worker of its own. The store must read the server's settings only
// once for all of them, which takes two CONFIG GETs.
func TestCrowd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(testing.TB, ...string) *testserver.Server) {
		client := connect(t, start(t, durable...).URL(), func(o *redis.Options) { o.PoolSize = 40 })
		storetest.Crowd(t, redislease.New(client), 30*time.Second)
		if n := callsOf(t, client, "config|get"); n != 2 { // for two kinds of settings
			t.Errorf("CONFIG GET was called %d times, want 2", n)
		}
	})
}
