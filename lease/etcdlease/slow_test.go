package etcdlease_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/etcdlease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A server whose replies take long stops a process only above the times that
// docs/operating.md has.
func TestSlowReplies(t *testing.T) {
	t.Parallel()
	server := testserver.Etcd(t)
	storetest.Slow(t, "etcd", func(t *testing.T) storetest.SlowStore {
		proxy, url := server.Proxy(t)
		return storetest.SlowStore{Store: etcdlease.New(connect(t, url)), Delay: proxy.Delay}
	})
}
