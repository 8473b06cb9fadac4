// Command migrate moves a small shop from auto-increment to Snowflake keys while a program
// writes to it. First the columns are widened while the old program runs. Then the new
// program is deployed. At last the database stops assigning keys.
//
//	go run ./examples/migrate                                            a temporary SQLite file
//	go run ./examples/migrate -dsn postgres://user@host/db               PostgreSQL
//	go run ./examples/migrate -dsn 'user@tcp(host)/db?parseTime=true'    MySQL or MariaDB
//
// Each run drops its tables, migrate_example_…, and creates them again.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler
)

func main() {
	dsn := flag.String("dsn", "", "`URL` of a PostgreSQL database, or DSN of a MySQL or MariaDB one (default a temporary SQLite file)")
	pause := flag.Duration("pause", time.Second, "how long each program writes before and after each change of its tables")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *dsn, *pause)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

// run opens the shop in the database that dsn names, or in a temporary SQLite file, and moves
// its tables. pause is how long each program writes before and after each change.
func run(ctx context.Context, out io.Writer, dsn string, pause time.Duration) error {
	dir, err := os.MkdirTemp("", "migrate-example-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shop, err := openShop(dsn, filepath.Join(dir, "shop.db"))
	if err != nil {
		return err
	}
	defer shop.close()
	return shop.run(ctx, out, pause)
}

// dialectorOf returns the dialect of the server that the DSN names, or of the SQLite file
// if the DSN is empty.
func dialectorOf(dsn, file string) gorm.Dialector {
	switch {
	case dsn == "":
		// With these settings connections wait for each other's transactions instead of
		// failing.
		const settings = "?_pragma=busy_timeout(10000)&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)"
		return sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: file + settings})
	case strings.HasPrefix(dsn, "postgres"):
		return postgres.Open(dsn)
	default:
		return mysql.Open(dsn)
	}
}
