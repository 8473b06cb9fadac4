package bench_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// BenchmarkOrders measures the main use, which is 1,000 orders of 10 lines in one
// transaction. It measures from structs without keys to the commit, into tables that were
// just created. It compares batches with a round trip for each order. GORM's own batches
// with RETURNING are as fast as gormflake's. Checking the foreign keys takes the same time
// in each way of inserting. On PostgreSQL it takes as much time as all the rest.
func BenchmarkOrders(b *testing.B) {
	eachDatabase(b, func(b *testing.B, db *gorm.DB) {
		must(b, db.Use(gormflake.New(generator(b, 4))))
		for _, checked := range []string{"off", "on"} {
			b.Run("fk="+checked, func(b *testing.B) {
				ways := []window{
					{"auto", func() float64 { return write(b, db, checked, insertOneByOne(db)) }},
					{"batches", func() float64 { return write(b, db, checked, insertBatches(db)) }},
				}
				if db.Name() == "postgres" {
					ways = append(ways, window{"copy", func() float64 { return write(b, db, checked, copyIn(db)) }})
				}
				interleave(b, 5, 0.5, ways)
			})
		}
	})
}

// eachDatabase runs the benchmark on each database that is available.
func eachDatabase(b *testing.B, run func(*testing.B, *gorm.DB)) {
	b.Helper()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.Postgres, testdb.MariaDB, testdb.MySQL} {
		b.Run("db="+string(target), func(b *testing.B) { run(b, testdb.Open(b, target)) })
	}
}

// write creates the tables again, and returns the time of insert. checked is on if the
// tables have foreign keys, and off otherwise.
func write(b *testing.B, db *gorm.DB, checked string, insert func() error) float64 {
	b.Helper()
	tables := []any{&order{}, &line{}, &autoOrder{}, &autoLine{}}
	must(b, db.Migrator().DropTable(tables...))
	db.DisableForeignKeyConstraintWhenMigrating = checked == "off"
	must(b, db.AutoMigrate(tables...))
	return nanosPerStep(b, 1, insert)
}

// order and line are the models whose keys gormflake sets.
type order struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Customer string   `gorm:"size:100;not null"`
	Lines    []line   `gorm:"foreignKey:OrderID"`
}

type line struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID  types.ID `gorm:"not null;index"`
	SKU      string   `gorm:"size:40;not null"`
	Quantity int      `gorm:"not null"`
}

// autoOrder and autoLine are the same models with keys that the database assigns.
type autoOrder struct {
	ID       int64
	Customer string     `gorm:"size:100;not null"`
	Lines    []autoLine `gorm:"foreignKey:OrderID"`
}

type autoLine struct {
	ID       int64
	OrderID  int64  `gorm:"not null;index"`
	SKU      string `gorm:"size:40;not null"`
	Quantity int    `gorm:"not null"`
}

// The number of orders of a run, and of lines of each order.
const (
	orderCount = 1000
	lineCount  = 10
)

// newOrders returns the orders of a run, without keys.
func newOrders() []order {
	orders := make([]order, orderCount)
	for i := range orders {
		orders[i] = order{Customer: customer(i), Lines: make([]line, lineCount)}
		for j := range orders[i].Lines {
			orders[i].Lines[j] = line{SKU: sku(i, j), Quantity: 1 + j}
		}
	}
	return orders
}

// newAutoOrders returns the same orders for keys that the database assigns.
func newAutoOrders() []autoOrder {
	orders := make([]autoOrder, orderCount)
	for i := range orders {
		orders[i] = autoOrder{Customer: customer(i), Lines: make([]autoLine, lineCount)}
		for j := range orders[i].Lines {
			orders[i].Lines[j] = autoLine{SKU: sku(i, j), Quantity: 1 + j}
		}
	}
	return orders
}

func customer(i int) string { return fmt.Sprintf("customer %04d", i) }

func sku(i, j int) string { return fmt.Sprintf("SKU-%03d", (i+j)%1000) }

// linesOf returns the lines of all orders.
func linesOf(orders []order) []line {
	lines := make([]line, 0, len(orders)*lineCount)
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return lines
}

// insertOneByOne creates the orders in memory, and returns a function that inserts each order
// and its lines by a Create of its own. The database assigns the keys.
func insertOneByOne(db *gorm.DB) func() error {
	orders := newAutoOrders()
	return func() error {
		return db.Transaction(func(tx *gorm.DB) error {
			for i := range orders {
				if err := tx.Create(&orders[i]).Error; err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// insertBatches creates the orders in memory, and returns a function that assigns their keys
// and inserts them in batches.
func insertBatches(db *gorm.DB) func() error {
	orders, rows := newOrders(), 1000
	if db.Name() == "sqlite" {
		rows = 100 // modernc.org/sqlite searches each parameter among all parameters of the statement
	}
	return func() error {
		if err := gormflake.Assign(db, &orders); err != nil {
			return err
		}
		return db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Omit("Lines").CreateInBatches(orders, rows).Error; err != nil {
				return err
			}
			return tx.CreateInBatches(linesOf(orders), rows).Error
		})
	}
}

// copyIn returns a function that inserts orders by COPY, on the pgx connection of GORM's
// pool.
func copyIn(db *gorm.DB) func() error {
	orders, ctx := newOrders(), context.Background()
	return func() error {
		if err := gormflake.Assign(db, &orders); err != nil {
			return err
		}
		pool, err := db.DB()
		if err != nil {
			return err
		}
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		err = conn.Raw(func(c any) error { return copyOrders(ctx, db, c.(*stdlib.Conn).Conn(), orders) })
		return errors.Join(err, conn.Close())
	}
}

// copyOrders copies the orders and then their lines, in one transaction.
func copyOrders(ctx context.Context, db *gorm.DB, conn *pgx.Conn, orders []order) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, rows := range []any{orders, linesOf(orders)} {
			src, err := gormflake.CopySource(db.Omit("Lines"), rows)
			if err != nil {
				return err
			}
			if _, err := tx.CopyFrom(ctx, src.Table(), src.Columns(), src); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkFirst measures the time that a lease adds to the start of a process. It is the
// time from lease.Acquire to the first ID, over an open connection and with an existing
// table. It includes the check of the table and the database's settings, which the store
// makes once in each process.
func BenchmarkFirst(b *testing.B) {
	eachDatabase(b, func(b *testing.B, db *gorm.DB) {
		for i := 0; b.Loop(); i++ {
			if i%100 == 0 { // a full table would make the lease wait for a worker that was used a moment ago
				b.StopTimer()
				must(b, db.Migrator().DropTable("snowflake_workers"))
				must(b, untilFirst(db))
				b.StartTimer()
			}
			must(b, untilFirst(db))
		}
	})
}

// untilFirst leases a worker, issues an ID and releases the worker.
func untilFirst(db *gorm.DB) error {
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	l, err := lease.Acquire(ctx, sqllease.New(db, sqllease.WithLogger(log)), snowflake.TwitterLayout(), lease.WithLogger(log))
	if err != nil {
		return err
	}
	gen, err := snowflake.New(l)
	if err != nil {
		return err
	}
	_, err = gen.Next(ctx)
	return errors.Join(err, gen.Close(ctx))
}
