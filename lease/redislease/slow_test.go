package redislease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// docs/operating.md says up to which time per statement a process can start, extend its
// window, and release its worker. The test delays each reply of the server by these times,
// and the process must succeed. In the long form it also tries longer times, with which the
// process must fail.
func TestSlowReplies(t *testing.T) {
	t.Parallel()
	server := testserver.Redis(t, durable...)
	storetest.Slow(t, "Redis", func(t *testing.T) storetest.SlowStore {
		proxy, url := server.Proxy(t)
		return storetest.SlowStore{Store: redislease.New(connect(t, url)), Delay: proxy.Delay}
	})
}
