package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// A server whose replies take long stops a process only above the times that
// docs/operating.md has.
func TestSlowReplies(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, durable...)
	storetest.Slow(t, "Redis", func(t *testing.T) storetest.SlowStore {
		proxy, url := server.Proxy(t)
		return storetest.SlowStore{Store: redislease.New(connect(t, url)), Delay: proxy.Delay}
	})
}
