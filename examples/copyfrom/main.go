// Command copyfrom writes orders and their lines to PostgreSQL by COPY, which is
// faster than INSERT. COPY runs on a connection of GORM's pool. The program needs a
// server:
//
//	go run ./examples/copyfrom -dsn postgres://user:password@localhost:5432/database
//
// Its tables, copyfrom_example_…, stay, and each run adds to them.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
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

// TableName returns another name than orders, because your database may have such a table.
func (Order) TableName() string { return "copyfrom_example_orders" }

// TableName returns another name than lines, because your database may have such a table.
func (Line) TableName() string { return "copyfrom_example_lines" }

func main() {
	url := flag.String("dsn", "", "`URL` of a PostgreSQL database, such as postgres://user:password@localhost:5432/database")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		fmt.Fprintln(os.Stderr, "copyfrom:", err)
		os.Exit(1)
	}
}

// run opens the database and a generator, writes the sample by COPY, and reads it back to print
// it.
func run(ctx context.Context, w io.Writer, url string) (err error) {
	if url == "" {
		return errors.New("COPY needs PostgreSQL: want -dsn postgres://user:password@localhost:5432/database")
	}
	db, err := gorm.Open(postgres.Open(url), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	// Open leases a worker from the database, and registers the plugin, which sets keys.
	gen, err := gormflake.Open(ctx, db)
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	db = db.WithContext(ctx)
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		return err
	}
	orders := sample()
	if err := insert(db, orders); err != nil {
		return err
	}
	return report(log.New(w, "", 0), db, orders)
}

// sample returns 1,000 orders of 10 lines, without keys.
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

// insert writes all of the orders or none, with their lines. COPY returns no keys, so Assign
// sets the keys of the orders and of their lines beforehand, and the foreign keys of the lines.
// If COPY fails, the same orders can be inserted again, because Assign keeps the keys that are
// set.
func insert(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return withPgx(db, func(ctx context.Context, tx pgx.Tx) error {
		// A COPY writes one table, so copy the orders without their lines first.
		if err := copyRows(ctx, tx, db.Omit("Lines"), orders); err != nil {
			return err
		}
		return copyRows(ctx, tx, db, lines)
	})
}

// withPgx calls do in a transaction of pgx, because only pgx has COPY. It borrows a connection
// from GORM's pool, and takes the connection of pgx out of it.
func withPgx(db *gorm.DB, do func(context.Context, pgx.Tx) error) error {
	ctx := db.Statement.Context
	// Within Connection, ConnPool is a single connection of database/sql. Raw calls its
	// function with the connection of the driver, which is the package stdlib of pgx.
	return db.Connection(func(lent *gorm.DB) error {
		return lent.Statement.ConnPool.(*sql.Conn).Raw(func(conn any) error {
			return pgx.BeginFunc(ctx, conn.(*stdlib.Conn).Conn(), func(tx pgx.Tx) error { return do(ctx, tx) })
		})
	})
}

// copyRows writes rows, which are []Order or []Line, by COPY. CopySource returns the table, the
// columns and the values that db.Create(rows) would write.
func copyRows(ctx context.Context, tx pgx.Tx, db *gorm.DB, rows any) error {
	src, err := gormflake.CopySource(db, rows)
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, src.Table(), src.Columns(), src)
	return err
}

// report reads the written rows through GORM, prints how many there are, and prints the last
// order.
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
