package zklease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/zklease"
)

// A server whose replies take long stops a process only above the times that
// docs/operating.md has.
func TestSlowReplies(t *testing.T) {
	t.Parallel()
	server := testserver.ZooKeeper(t)
	storetest.Slow(t, "ZooKeeper", func(t *testing.T) storetest.SlowStore {
		proxy, url := server.Proxy(t)
		return storetest.SlowStore{Store: zklease.New(connect(t, url)), Delay: proxy.Delay}
	})
}
