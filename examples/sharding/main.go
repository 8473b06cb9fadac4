// Command sharding uses gorm.io/sharding in two ways: beside the gormflake
// plugin, with orders sharded by their own keys, and without it, with a
// generator as the key function that gives keys to INSERTs written by hand.
//
// It is a module of its own. Run it from the root of the repository:
//
//	go run -C examples/sharding .                                    SQLite in memory
//	go run -C examples/sharding . -dsn postgres://user@host/database  or mysql://…
//
// Its tables, sharding_example_…, are made anew by each run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/sharding"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Order is sharded by its key. The column is named as it is in Line, because
// all tables of one configuration share the name of the sharding key.
type Order struct {
	ID       types.ID `gorm:"column:order_id;primaryKey" snowflake:"pk"`
	Customer string
	Lines    []Line
}

// Line lives in the shard of its order.
type Line struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
	SKU     string
}

// Event has no snowflake tag: its key comes from the key function.
type Event struct {
	ID        int64 `gorm:"primaryKey;autoIncrement:false;check:id > 0"`
	AccountID int64
	Text      string
}

// TableName keeps clear of an orders table that is already there.
func (Order) TableName() string { return "sharding_example_orders" }

// TableName keeps clear of a lines table that is already there.
func (Line) TableName() string { return "sharding_example_lines" }

// TableName keeps clear of an events table that is already there.
func (Event) TableName() string { return "sharding_example_events" }

func main() {
	url := flag.String("dsn", "sqlite://:memory:", "`URL` of the database")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		fmt.Fprintln(os.Stderr, "sharding:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, url string) (err error) {
	// Another number for each process that writes at the same time.
	gen, err := snowflake.New(snowflake.Static(0, 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()

	out := log.New(w, "", 0)
	if err := besidePlugin(ctx, out, url, gen); err != nil {
		return err
	}
	return asKeyFunction(ctx, out, url, gen)
}

const shards = 4

// shard is the number of the shard that holds an order. Keys spread evenly over
// the shards, for their low bits start at random.
func shard(order types.ID) int64 { return order.Int64() % shards }

func besidePlugin(ctx context.Context, out *log.Logger, url string, gen *snowflake.Generator) error {
	db, closePool, err := open(url, sharding.Config{
		ShardingKey:    "order_id",
		NumberOfShards: shards,
		// The default algorithm knows no types.ID.
		ShardingAlgorithm: func(key any) (string, error) {
			id, ok := key.(types.ID)
			if !ok {
				return "", fmt.Errorf("order_id is a %T, want types.ID", key)
			}
			return fmt.Sprintf("_%d", shard(id)), nil
		},
		ShardingSuffixs: func() (suffixes []string) {
			for i := range shards {
				suffixes = append(suffixes, fmt.Sprintf("_%d", i))
			}
			return suffixes
		},
		// The function is called for each row, also where the plugin has given
		// it a key: 0 adds none, and an ID would be lost.
		PrimaryKeyGenerator:   sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 { return 0 },
	}, &Order{}, &Line{})
	if err != nil {
		return err
	}
	defer closePool()
	if err := db.Use(gormflake.New(gen)); err != nil {
		return err
	}
	return insertOrders(out, db.WithContext(ctx))
}

// insertOrders writes one batch per shard, for sharding refuses an INSERT whose
// rows belong to several. Assign tells the shards of the orders before.
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
	out.Printf("Beside the plugin, %d orders sharded by their keys:", len(orders))
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

// insertBatch writes lines by themselves: GORM saves associations by an upsert,
// and sharding cannot read that of MySQL.
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

func asKeyFunction(ctx context.Context, out *log.Logger, url string, gen *snowflake.Generator) error {
	db, closePool, err := open(url, sharding.Config{
		ShardingKey:         "account_id",
		NumberOfShards:      shards,
		PrimaryKeyGenerator: sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 {
			id, err := gen.Next(ctx)
			if err != nil {
				return -1 // refused by the check of the column; 0 would leave the key to the database
			}
			return id.Int64()
		},
	}, &Event{})
	if err != nil {
		return err
	}
	defer closePool()
	return insertEvents(out, db.WithContext(ctx))
}

// insertEvents writes SQL by hand, which no plugin that fills structs can see.
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

// open makes the tables anew. GORM takes one sharding configuration per database.
func open(url string, config sharding.Config, models ...any) (db *gorm.DB, closePool func(), err error) {
	dialector, err := dsn.Open(url)
	if err != nil {
		return nil, nil, err
	}
	db, err = gorm.Open(dialector, &gorm.Config{
		// Sharding v0.6.2 reads a result that is nil to log a statement that failed.
		Logger: logger.Discard,
		// A foreign key would refer to the table without a suffix.
		DisableForeignKeyConstraintWhenMigrating: true,
	})
	if err != nil {
		return nil, nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	closePool = func() { pool.Close() }
	if err = db.Use(sharding.Register(config, models...)); err == nil {
		err = errors.Join(db.Migrator().DropTable(models...), db.AutoMigrate(models...))
	}
	if err != nil {
		closePool()
	}
	return db, closePool, err
}
