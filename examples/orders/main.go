// Command orders inserts orders with their lines in three ways, reads one back as
// JSON and takes its key apart; with -serve it is a JSON API with a page. ways.go
// is the place to start reading.
//
//	go run ./examples/orders                               a temporary SQLite file
//	go run ./examples/orders -dsn postgres://user@host/db  PostgreSQL
//	go run ./examples/orders -dsn 'user@tcp(host)/db'      MySQL or MariaDB
//	go run ./examples/orders -serve :8080                  the API and the page
//
// Its tables, orders_example_…, stay on your server, and each run adds to them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

func main() {
	dsn := flag.String("dsn", "", "`URL` of a PostgreSQL database, or DSN of a MySQL or MariaDB one (default a temporary SQLite file)")
	address := flag.String("serve", "", "serve the API and the page on this `address` until Ctrl-C, for example :8080")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dsn, *address, log.New(os.Stdout, "", 0))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn, address string, out *log.Logger) (err error) {
	dir, err := os.MkdirTemp("", "orders-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := gorm.Open(dialectorOf(dsn, filepath.Join(dir, "orders.db")), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()

	// All that gormflake needs: a worker leased from the database itself, a
	// generator that issues under it, and the plugin that fills tagged fields.
	gen, err := gormflake.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	if err := prepare(db.WithContext(ctx)); err != nil {
		return err
	}
	if address != "" {
		return serve(ctx, address, api{db}.handler(), out)
	}
	return demonstrate(db.WithContext(ctx), gen.Layout(), out)
}

// dialectorOf is for the server that the DSN names, or for the SQLite file if
// there is none.
func dialectorOf(dsn, file string) gorm.Dialector {
	switch {
	case dsn == "":
		// Connections wait for each other's transactions instead of failing.
		const settings = "?_pragma=busy_timeout(5000)&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)"
		return sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: file + settings})
	case strings.HasPrefix(dsn, "postgres"):
		return postgres.Open(dsn)
	default:
		return mysql.Open(dsn)
	}
}

// prepare creates the tables. Check finds tags that cannot work, and tables whose
// database still assigns keys, before the first row does.
func prepare(db *gorm.DB) error {
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		return err
	}
	return gormflake.Check(db, &Order{}, &Line{})
}

const orderCount, linesPerOrder = 1000, 10

// demonstrate inserts orders in every way that the database supports, and counts
// the lines that have arrived.
func demonstrate(db *gorm.DB, layout snowflake.Layout, out *log.Logger) error {
	out.Printf("%d orders of %d lines each, in a %s database:\n\n", orderCount, linesPerOrder, db.Name())
	ways := []struct {
		name   string
		insert func(*gorm.DB, []Order) error
	}{
		{"Create: GORM inserts orders and their lines, nested", insertNested},
		{"Assign, then batched INSERTs, one table after the other", insertAssigned},
		{"Assign, then pgx.CopyFrom, the fastest", insertCopied},
	}
	var orders []Order
	for i, way := range ways {
		out.Printf("%d. %s", i+1, way.name)
		if i == 2 && db.Name() != "postgres" {
			out.Print("   needs PostgreSQL: add -dsn postgres://user:password@host:5432/database")
			continue
		}
		orders = sampleOrders()
		if err := way.insert(db, orders); err != nil {
			return err
		}
		stored := db.Model(&orders).Association("Lines")
		out.Printf("   %d lines stored, orders %d to %d", stored.Count(), orders[0].ID, orders[orderCount-1].ID)
		if stored.Error != nil {
			return stored.Error
		}
	}
	return explain(db, layout, orders[0].ID, out)
}

func sampleOrders() []Order {
	orders := make([]Order, orderCount)
	for i := range orders {
		orders[i].Customer = fmt.Sprintf("customer %d", i)
		for j := range linesPerOrder {
			orders[i].Lines = append(orders[i].Lines, Line{SKU: fmt.Sprintf("TEA-%02d", j), Quantity: 1 + i%5, UnitCents: 450})
		}
	}
	return orders
}

// explain reads an order back, and shows what its key says.
func explain(db *gorm.DB, layout snowflake.Layout, id types.ID, out *log.Logger) error {
	order, err := find(db, id)
	if err != nil {
		return err
	}
	order.Lines = order.Lines[:2]
	text, _ := json.MarshalIndent(order, "", "  ")
	out.Printf("\nOne of them as JSON, with two of its lines. Keys are strings:\n%s", text)
	parts := layout.Decompose(id)
	out.Printf("\nIts key says when and by whom it was issued: %s, datacenter %d, worker %d, sequence %d.",
		parts.Time.Format(time.RFC3339Nano), parts.Datacenter, parts.Worker, parts.Sequence)
	out.Printf("As a number, JavaScript would read it as %s.\n\nNext: go run ./examples/orders -serve :8080",
		strconv.FormatFloat(float64(id.Int64()), 'f', -1, 64))
	return nil
}
