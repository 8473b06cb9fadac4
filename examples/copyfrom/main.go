// Command copyfrom writes orders and their lines to PostgreSQL by COPY, which is
// faster than INSERT but returns no keys: Assign sets them first. COPY and GORM
// share one pgxpool. It needs a server:
//
//	go run ./examples/copyfrom -dsn postgres://user:password@localhost:5432/database
//
// Its tables, copyfrom_example_…, stay, and each run adds to them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Order is the parent.
type Order struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Customer string   `gorm:"not null"`
	Lines    []Line
}

// Line is the child. The database checks that its order exists.
type Line struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID  types.ID `gorm:"not null;index"`
	SKU      string   `gorm:"not null"`
	Quantity int      `gorm:"not null"`
}

// TableName differs from the orders table that your database may have.
func (Order) TableName() string { return "copyfrom_example_orders" }

// TableName differs from the lines table that your database may have.
func (Line) TableName() string { return "copyfrom_example_lines" }

func main() {
	url := flag.String("dsn", "", "`URL` of a PostgreSQL database, such as postgres://user:password@localhost:5432/database")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		fmt.Fprintln(os.Stderr, "copyfrom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, url string) (err error) {
	if url == "" {
		return errors.New("COPY needs PostgreSQL: want -dsn postgres://user:password@localhost:5432/database")
	}
	// Give each process that writes at the same time another worker.
	gen, err := snowflake.New(snowflake.Static(0, 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()

	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	db, err := open(pool, gen)
	if err != nil {
		return err
	}
	orders := sample()
	if err := insert(ctx, db, pool, orders); err != nil {
		return err
	}
	return report(log.New(w, "", 0), db.WithContext(ctx), orders)
}

// open puts GORM on the pool that COPY uses.
func open(pool *pgxpool.Pool, gen *snowflake.Generator) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: stdlib.OpenDBFromPool(pool)}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	if err := db.Use(gormflake.New(gen)); err != nil {
		return nil, err
	}
	return db, db.AutoMigrate(&Order{}, &Line{})
}

func sample() []Order {
	orders := make([]Order, 1000)
	for i := range orders {
		orders[i].Customer = fmt.Sprintf("customer %d", i)
		for j := range 10 {
			orders[i].Lines = append(orders[i].Lines, Line{SKU: fmt.Sprintf("sku-%d", j), Quantity: j + 1})
		}
	}
	return orders
}

// insert writes all of the orders or none.
func insert(ctx context.Context, db *gorm.DB, pool *pgxpool.Pool, orders []Order) error {
	if err := gormflake.Assign(db.WithContext(ctx), &orders); err != nil {
		return err
	}
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := copyRows(ctx, tx, db.Omit("Lines"), orders); err != nil {
			return err
		}
		return copyRows(ctx, tx, db, lines)
	})
}

// copyRows writes the columns that db.Create(rows) would.
func copyRows(ctx context.Context, tx pgx.Tx, db *gorm.DB, rows any) error {
	src, err := gormflake.CopySource(db.WithContext(ctx), rows)
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, src.Table(), src.Columns(), src)
	return err
}

// report reads back what has been written, through GORM.
func report(out *log.Logger, db *gorm.DB, orders []Order) error {
	var lines int64
	first, last := orders[0].ID, orders[len(orders)-1].ID
	err := db.Model(&Line{}).Where("order_id BETWEEN ? AND ?", first, last).Count(&lines).Error
	if err != nil {
		return err
	}
	out.Printf("Copied %d orders and %d lines in one transaction.", len(orders), lines)

	var order Order
	byID := func(db *gorm.DB) *gorm.DB { return db.Order("id") }
	if err := db.Preload("Lines", byID).First(&order, last).Error; err != nil {
		return err
	}
	out.Printf("The last of them is order %s of %s:", order.ID, order.Customer)
	for _, l := range order.Lines {
		out.Printf("  line %s  %d of %s", l.ID, l.Quantity, l.SKU)
	}
	return nil
}
