// Command sharding uses gorm.io/sharding in two ways. With the gormflake plugin, it shards
// orders by their own keys. Without the plugin, it uses a generator as the key function
// for INSERTs that are written by hand.
//
// It is a separate module. Run it from the root of the repository:
//
//	go run -C examples/sharding .
//
// It uses SQLite in memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/sharding"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Order is sharded by its key. The key's column is order_id, as in Line, because all tables of
// one configuration share the name of the sharding key. The name is not id, because sharding
// accepts only an int64 in a column id, and GORM passes a types.ID.
type Order struct {
	ID       types.ID `gorm:"column:order_id;primaryKey" snowflake:"pk"`
	Customer string
	Lines    []Line
}

// Line is in the shard of its order.
type Line struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
	SKU     string
}

// Event has no snowflake tag, because its key comes from the key function.
type Event struct {
	ID        int64 `gorm:"primaryKey;autoIncrement:false;check:id > 0"`
	AccountID int64
	Text      string
}

// TableName returns the name without the suffix of a shard, such as _1.
func (Order) TableName() string { return "sharding_example_orders" }

// TableName returns the name without the suffix of a shard, such as _1.
func (Line) TableName() string { return "sharding_example_lines" }

// TableName returns the name without the suffix of a shard, such as _1.
func (Event) TableName() string { return "sharding_example_events" }

func main() {
	if err := run(context.Background(), os.Stdout, openMemory); err != nil {
		fmt.Fprintln(os.Stderr, "sharding:", err)
		os.Exit(1)
	}
}

// run demonstrates both ways, each in a new database, because GORM accepts one sharding
// configuration per database. open opens a database, in memory unless a test passes another
// function.
func run(ctx context.Context, w io.Writer, open func(*gorm.Config) (*gorm.DB, error)) (err error) {
	// Give a different worker to each process that writes at the same time.
	gen, err := snowflake.New(snowflake.Static(0, 0))
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()

	out := log.New(w, "", 0)
	for _, way := range []func(context.Context, *log.Logger, *gorm.DB, *snowflake.Generator) error{withPlugin, asKeyFunction} {
		db, err := open(newConfig())
		if err != nil {
			return err
		}
		if err := way(ctx, out, db, gen); err != nil {
			return err
		}
	}
	return nil
}

// newConfig returns a new configuration for each database, because GORM changes it.
func newConfig() *gorm.Config {
	return &gorm.Config{
		// Sharding v0.6.2 panics if it logs a failed statement, because it reads a result that
		// is nil.
		Logger: logger.Discard,
		// A foreign key would refer to the table without a suffix, which has no rows.
		DisableForeignKeyConstraintWhenMigrating: true,
	}
}

// openMemory opens a database in memory. The pool has a single connection, because each
// connection would have a separate database.
func openMemory(config *gorm.Config) (*gorm.DB, error) {
	db, err := gorm.Open(sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: ":memory:"}), config)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	return db, nil
}

// shards is the number of tables of each model.
const shards = 4

// shard returns the number of the shard that contains an order with this key. The lowest bits
// of a key are its sequence. In each tick, the sequence starts at a random number, so keys
// spread evenly over the shards.
func shard(order types.ID) int64 { return order.Int64() % shards }

// withPlugin shards orders and lines by the key of the order, which the gormflake plugin sets.
func withPlugin(ctx context.Context, out *log.Logger, db *gorm.DB, gen *snowflake.Generator) error {
	err := shardTables(db, sharding.Config{
		ShardingKey:    "order_id",
		NumberOfShards: shards,
		// The default algorithm does not support types.ID.
		ShardingAlgorithm: func(key any) (string, error) {
			id, ok := key.(types.ID)
			if !ok {
				return "", fmt.Errorf("order_id is a %T: want types.ID", key)
			}
			return fmt.Sprintf("_%d", shard(id)), nil
		},
		ShardingSuffixs: func() (suffixes []string) {
			for i := range shards {
				suffixes = append(suffixes, fmt.Sprintf("_%d", i))
			}
			return suffixes
		},
		// Sharding calls the function for every row, even if the plugin has set its key.
		// The result 0 adds no key, and an ID would be wasted.
		PrimaryKeyGenerator:   sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 { return 0 },
	}, &Order{}, &Line{})
	if err != nil {
		return err
	}
	if err := db.Use(gormflake.New(gen)); err != nil {
		return err
	}
	return insertOrders(out, db.WithContext(ctx))
}

// insertOrders writes one batch per shard, because sharding rejects an INSERT whose rows
// belong to several shards. The shards are known after Assign.
func insertOrders(out *log.Logger, db *gorm.DB) error {
	orders := make([]Order, 20)
	for i := range orders {
		orders[i] = Order{Customer: fmt.Sprintf("customer %d", i), Lines: []Line{{SKU: "anvil"}, {SKU: "rope"}}}
	}
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	var batches [shards][]Order
	for _, o := range orders {
		batches[shard(o.ID)] = append(batches[shard(o.ID)], o)
	}
	out.Printf("With the plugin, %d orders sharded by their keys:", len(orders))
	for i, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		if err := insertBatch(db, batch); err != nil {
			return err
		}
		if err := reportOrder(out, db, i, batch); err != nil {
			return err
		}
	}
	return nil
}

// insertBatch inserts the lines separately, because GORM saves associations with an
// upsert, and sharding cannot parse MySQL's upsert.
func insertBatch(db *gorm.DB, orders []Order) error {
	if err := db.Omit(clause.Associations).Create(&orders).Error; err != nil {
		return err
	}
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return db.Create(&lines).Error
}

// reportOrder prints the number of orders in the shard, and the first order of its batch.
func reportOrder(out *log.Logger, db *gorm.DB, number int, batch []Order) error {
	var order Order
	if err := db.Preload("Lines").First(&order, batch[0].ID).Error; err != nil {
		return err
	}
	var rows int64
	if err := db.Table(fmt.Sprintf("%s_%d", order.TableName(), number)).Count(&rows).Error; err != nil {
		return err
	}
	out.Printf("  shard %d  orders %d  one of them is %s with %d lines", number, rows, order.ID, len(order.Lines))
	return nil
}

// asKeyFunction shards events by account. Sharding adds a key to each INSERT, for which it calls
// a function, and this function takes the key from the generator.
func asKeyFunction(ctx context.Context, out *log.Logger, db *gorm.DB, gen *snowflake.Generator) error {
	err := shardTables(db, sharding.Config{
		ShardingKey:         "account_id",
		NumberOfShards:      shards,
		PrimaryKeyGenerator: sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 {
			id, err := gen.Next(ctx)
			if err != nil {
				return -1 // rejected by the check of the column; with 0 the database would assign the key
			}
			return id.Int64()
		},
	}, &Event{})
	if err != nil {
		return err
	}
	return insertEvents(out, db.WithContext(ctx))
}

// insertEvents inserts events by SQL without a key, to which sharding adds the key. There are no
// structs in which the gormflake plugin could set the key.
func insertEvents(out *log.Logger, db *gorm.DB) error {
	out.Print("As the key function, events sharded by account_id:")
	for account := int64(6); account <= 8; account++ {
		const insert = "INSERT INTO sharding_example_events (account_id, text) VALUES (?, ?)"
		if err := db.Exec(insert, account, "signed in").Error; err != nil {
			return err
		}
		var event Event
		if err := db.Where("account_id = ?", account).Take(&event).Error; err != nil {
			return err
		}
		out.Printf("  shard %d  account %d  event %d", account%shards, event.AccountID, event.ID)
	}
	return nil
}

// shardTables registers sharding with the configuration, and creates the tables of the models,
// one for each shard.
func shardTables(db *gorm.DB, config sharding.Config, models ...any) error {
	if err := db.Use(sharding.Register(config, models...)); err != nil {
		return err
	}
	return db.AutoMigrate(models...)
}
