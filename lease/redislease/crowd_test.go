package redislease_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease/internal/storetest"
	"github.com/gormflake/gormflake/lease/redislease"
)

// Thousands of leases start at once over forty connections.
func TestCrowd(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t, durable...).URL(), func(o *redis.Options) { o.PoolSize = 40 })
	storetest.Crowd(t, redislease.New(client), 30*time.Second)
}
