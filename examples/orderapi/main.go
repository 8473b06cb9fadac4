// Command orderapi is a JSON API for orders with their lines, with a page that uses
// it. Keys go to the browser as JSON strings, and an Idempotency-Key keeps a request
// that is sent twice from placing two orders.
//
//	go run ./examples/orderapi                               a temporary SQLite file
//	go run ./examples/orderapi -dsn postgres://user@host/db  PostgreSQL
//	go run ./examples/orderapi -dsn 'user@tcp(host)/db'      MySQL or MariaDB
//	go run ./examples/orderapi -addr localhost:9090          another address
//
// Its tables, orders_example_…, stay on your server, and each run adds to them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
)

func main() {
	dsn := flag.String("dsn", "", "`URL` of a PostgreSQL database, or DSN of a MySQL or MariaDB one (default a temporary SQLite file)")
	address := flag.String("addr", "localhost:8080", "`address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dsn, *address, log.New(os.Stdout, "", 0))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orderapi:", err)
		os.Exit(1)
	}
}

// run opens the database that dsn names, or a temporary SQLite file, and a generator, and serves
// the API until ctx ends.
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
	gen, err := gormflake.Open(ctx, db)
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	if err := prepare(db.WithContext(ctx)); err != nil {
		return err
	}
	return serve(ctx, address, api{db}.handler(), out)
}

// dialectorOf returns the dialect of the server that the DSN names, or of the SQLite file
// if the DSN is empty.
func dialectorOf(dsn, file string) gorm.Dialector {
	switch {
	case dsn == "":
		// With these settings connections wait for each other's transactions instead of
		// failing.
		const settings = "?_pragma=busy_timeout(5000)&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)"
		return sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: file + settings})
	case strings.HasPrefix(dsn, "postgres"):
		return postgres.Open(dsn)
	default:
		return mysql.Open(dsn)
	}
}

// prepare creates the tables. Check returns an error for a tag that cannot work, or a table
// whose keys the database assigns, before the first row is written.
func prepare(db *gorm.DB) error {
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		return err
	}
	return gormflake.Check(db, &Order{}, &Line{})
}
