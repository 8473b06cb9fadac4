package database_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/types"
)

// TestGoRedis checks that go-redis writes a types.ID as decimal text: as the value of a key,
// in a hash, in a set, in a stream, and as the argument of a script.
func TestGoRedis(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: testserver.Redis(t).Address()})
	defer client.Close()
	ctx := t.Context()
	ok(t, client.Set(ctx, "last", sample, 0).Err())
	equal(t, client.Get(ctx, "last").Val(), text)
	var back types.ID
	ok(t, client.Get(ctx, "last").Scan(&back))
	equal(t, back, sample)
	type row struct {
		ID     types.ID  `redis:"id"`
		Parent *types.ID `redis:"parent,omitempty"`
	}
	ok(t, client.HSet(ctx, "order", row{ID: sample}).Err())
	var read row
	ok(t, client.HGetAll(ctx, "order").Scan(&read))
	equal(t, read.ID, sample)
	ok(t, client.SAdd(ctx, "open", sample).Err())
	equal(t, client.SIsMember(ctx, "open", sample).Val(), true)
	if err := client.SAdd(ctx, "open", []types.ID{sample}).Err(); err == nil {
		t.Error("a slice of IDs was taken; the page says that it is an error")
	}
	ok(t, client.ZAdd(ctx, "by-price", redis.Z{Score: 9.5, Member: sample}).Err())
	equal(t, client.ZRange(ctx, "by-price", 0, -1).Val()[0], text)
	ok(t, client.XAdd(ctx, &redis.XAddArgs{Stream: "events", Values: map[string]any{"order": sample}}).Err())
	got, err := client.Eval(ctx, "return ARGV[1]", nil, sample).Text()
	ok(t, err)
	equal(t, got, text)
}
