// Command migrate moves a small shop from auto-increment to Snowflake keys
// while a program writes to it: first the columns are widened, under the old
// program, then the new program is deployed, and then the database is told to
// assign no more keys.
//
//	go run ./examples/migrate                               a temporary SQLite file
//	go run ./examples/migrate -dsn postgres://user@host/db  or mysql://… (MariaDB), sqlite://file.db
//
// Its tables, migrate_example_…, are made anew by each run.
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
	"time"
)

func main() {
	url := flag.String("dsn", "", "`URL` of the database (default a temporary SQLite file)")
	pause := flag.Duration("pause", time.Second, "how long each program writes before the next thing is done to its tables")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := runOn(ctx, os.Stdout, *url, *pause)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

// runOn makes a place for the database where none was given.
func runOn(ctx context.Context, out io.Writer, url string, pause time.Duration) error {
	if url == "" {
		dir, err := os.MkdirTemp("", "migrate")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		url = "sqlite://" + filepath.Join(dir, "shop.db")
	}
	shop, err := openShop(url)
	if err != nil {
		return err
	}
	defer shop.close()
	return shop.run(ctx, out, pause)
}
