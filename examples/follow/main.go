// Command follow reads new rows of a table while other transactions write it, and shows
// why "id > last" is not enough. A key is assigned before its transaction commits, so a
// smaller key can become visible after a larger key. Start reading in follow.go.
//
//	go run ./examples/follow                               a temporary SQLite file
//	go run ./examples/follow -dsn postgres://user@host/db  PostgreSQL
//	go run ./examples/follow -dsn 'user@tcp(host)/db'      MySQL or MariaDB
//
// Its table, follow_example_events, stays on your server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
)

func main() {
	dsn := flag.String("dsn", "", "`URL` of a PostgreSQL database, or DSN of a MySQL or MariaDB one (default a temporary SQLite file)")
	flag.Parse()
	if err := run(context.Background(), *dsn, log.New(os.Stdout, "", 0)); err != nil {
		fmt.Fprintln(os.Stderr, "follow:", err)
		os.Exit(1)
	}
}

// run opens the database that dsn names, or a temporary SQLite file, and a generator, and
// demonstrates the followers.
func run(ctx context.Context, dsn string, out *log.Logger) (err error) {
	dir, err := os.MkdirTemp("", "follow-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := gorm.Open(dialectorOf(dsn, filepath.Join(dir, "follow.db")), &gorm.Config{Logger: logger.Discard})
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
	db = db.WithContext(ctx)
	if err := prepare(db); err != nil {
		return err
	}
	return demonstrate(db, gen.Layout(), out)
}

// dialectorOf returns the dialect of the server that the DSN names, or of the SQLite file
// if the DSN is empty.
func dialectorOf(dsn, file string) gorm.Dialector {
	switch {
	case dsn == "":
		// With these settings connections wait for each other's transactions instead of
		// failing.
		const settings = "?_pragma=busy_timeout(60000)&_txlock=immediate&_pragma=journal_mode(wal)"
		return sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: file + settings})
	case strings.HasPrefix(dsn, "postgres"):
		return postgres.Open(dsn)
	default:
		return mysql.Open(dsn)
	}
}

// prepare creates the table. On PostgreSQL it adds the column written_by for
// transactionFollower. By its default, the column gets the number of the transaction that
// writes the row.
func prepare(db *gorm.DB) error {
	if err := db.AutoMigrate(&Event{}); err != nil || db.Name() != "postgres" {
		return err
	}
	add := db.Exec("ALTER TABLE follow_example_events ADD COLUMN IF NOT EXISTS written_by xid8 NOT NULL DEFAULT pg_current_xact_id()")
	index := db.Exec("CREATE INDEX IF NOT EXISTS follow_example_written_by ON follow_example_events (written_by)")
	return errors.Join(add.Error, index.Error)
}

// writers is the number of goroutines that write. Each writes eventsPerWriter events, and
// events is the number of events of all writers.
const writers, eventsPerWriter, events = 6, 50, 6 * 50

// way is a follower in the demonstration.
type way struct {
	name string
	follower
	complete bool // whether the follower is expected to receive every event, perhaps later
	received int  // the number of events that it has received
}

// demonstrate runs every follower while the writers write, and prints how many events each
// follower received. transactionFollower runs on PostgreSQL only. layout is the layout of the keys.
func demonstrate(db *gorm.DB, layout snowflake.Layout, out *log.Logger) error {
	begun := time.Now()
	ways := []*way{
		{name: "id > last", follower: &lastKeyFollower{db: db, last: layout.Min(begun)}},
		{name: "re-read an overlap", follower: &overlapFollower{db: db, layout: layout, overlap: 10 * time.Minute, since: begun}, complete: true},
	}
	if db.Name() == "postgres" {
		exact, err := followTransactions(db)
		if err != nil {
			return err
		}
		ways = append(ways, &way{name: "pg_snapshot_xmin", follower: exact, complete: true})
	}
	if err := followWhileWriting(db, ways); err != nil {
		return err
	}
	out.Printf("%d events, written by %d goroutines of one process, in a %s database.\n\n", events, writers, db.Name())
	for _, w := range ways {
		out.Printf("%-19s %d received, %d missed for ever", w.name, w.received, events-w.received)
	}
	return nil
}

// followWhileWriting polls until all writers have committed. It then continues until the
// complete followers have received every event, or a minute has passed.
func followWhileWriting(db *gorm.DB, ways []*way) (err error) {
	written := make(chan error, 1) // nil after all writers have committed
	go func() { written <- writeAll(db) }()
	// deadline is nil, and so never ready, until all writers have committed.
	for deadline := (<-chan time.Time)(nil); err == nil; {
		select {
		case err = <-written:
			written, deadline = nil, time.After(time.Minute)
		case <-deadline:
			return nil // the caller prints how many events are missing
		case <-time.After(2 * time.Millisecond):
		}
		missing := false
		for _, w := range ways {
			read, pollErr := w.poll()
			w.received += len(read)
			err = errors.Join(err, pollErr)
			missing = missing || w.complete && w.received < events
		}
		if written == nil && !missing {
			return err
		}
	}
	return err
}

// writeAll writes all events, and returns after the last commit.
func writeAll(db *gorm.DB) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range eventsPerWriter {
				errs[i] = errors.Join(errs[i], writeSlowly(db, fmt.Sprintf("event of writer %d", i)))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// writeSlowly writes an event as an application does that takes some time between the
// assignment of the key and the end of the transaction. Meanwhile, other writers commit events
// with larger keys.
func writeSlowly(db *gorm.DB, text string) error {
	event := Event{Text: text}
	if err := gormflake.Assign(db, &event); err != nil {
		return err
	}
	time.Sleep(rand.N(10 * time.Millisecond))
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&event).Error; err != nil {
			return err
		}
		time.Sleep(rand.N(3 * time.Millisecond))
		return nil
	})
}
