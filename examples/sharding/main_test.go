package main

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"testing"

	"gorm.io/gorm"
	"gorm.io/sharding"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestRun checks that orders are in the shard that their keys name, and that the keys of
// events come from the generator.
func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { check(t, openMemory) })
	t.Run("postgres", func(t *testing.T) {
		check(t, func(config *gorm.Config) (*gorm.DB, error) {
			return testdb.Open(t, testdb.Postgres, config), nil
		})
	})
}

// orderLine matches the line of a shard, with its number, the number of its orders and
// the key of an order. eventLine matches an event, with its shard, its account and its
// key.
var (
	orderLine = regexp.MustCompile(`(?m)^  shard (\d)  orders (\d+)  one of them is (\d+) with 2 lines$`)
	eventLine = regexp.MustCompile(`(?m)^  shard (\d)  account (\d)  event (\d+)$`)
)

// check runs the program on a database, and compares its output with the rows and shards that
// it must have.
func check(t *testing.T, open func(*gorm.Config) (*gorm.DB, error)) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), &out, open); err != nil {
		t.Fatal(err)
	}
	orders := 0
	var newest types.ID
	for _, line := range orderLine.FindAllStringSubmatch(out.String(), -1) {
		n, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		orders += n
		id := types.MustParseID(line[3])
		if got := strconv.FormatInt(id.Int64()%4, 10); got != line[1] {
			t.Errorf("order %s is in shard %s, want %s", id, line[1], got)
		}
		newest = max(newest, id)
	}
	if orders != 20 {
		t.Errorf("%d orders in the shards, want 20", orders)
	}
	events := eventLine.FindAllStringSubmatch(out.String(), -1)
	if len(events) != 3 {
		t.Errorf("%d events, want 3", len(events))
	}
	for _, line := range events {
		id := types.MustParseID(line[3])
		if id <= newest {
			t.Errorf("event of account %s has key %s, want one of the generator, above %s", line[2], id, newest)
		}
		newest = id
	}
	if t.Failed() {
		t.Log(&out)
	}
}

// TestColumnID shows why Order has no column id. gorm.io/sharding accepts only an int64 as
// the value of a column id, and so rejects a types.ID, even if the query gives the sharding
// key.
func TestColumnID(t *testing.T) {
	t.Parallel()
	db, err := openMemory(newConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := shardTables(db, sharding.Config{
		ShardingKey:           "order_id",
		NumberOfShards:        shards,
		ShardingAlgorithm:     func(any) (string, error) { return "_1", nil },
		PrimaryKeyGenerator:   sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 { return 0 },
	}, &Line{}); err != nil {
		t.Fatal(err)
	}
	of := db.Where("order_id = ?", types.ID(1)).Session(&gorm.Session{})
	const want = "ID should be int64 type"
	if err := of.First(&Line{}, types.ID(2)).Error; err == nil || err.Error() != want {
		t.Errorf("a types.ID: got %v, want %s", err, want)
	}
	if err := of.First(&Line{}, types.ID(2).Int64()).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
		t.Errorf("an int64: got %v, want %v", err, gorm.ErrRecordNotFound)
	}
}
