package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
)

// TestLateCommit checks which followers receive the event "late". Its key is smaller than
// that of the event "early", but it is committed only after the first poll has read "early".
// A follower that reads an overlap again must receive it once, in the second poll. A follower
// that reads only keys above the last key must miss it, and so must a follower without an
// overlap.
func TestLateCommit(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		layout, begun := use(t, db), time.Now()
		followers := map[string]follower{
			"id > last": &lastKeyFollower{db: db, last: layout.Min(begun)},
			"overlap":   &overlapFollower{db: db, layout: layout, overlap: time.Hour, since: begun},
			// Without an overlap, the second poll reads only keys that were assigned after
			// the first poll began. The key of the late event is older.
			"no overlap": &overlapFollower{db: db, layout: layout, since: begun},
		}
		commit := writeLate(t, db, "late")
		time.Sleep(2 * time.Millisecond) // into another tick
		if err := db.Create(&Event{Text: "early"}).Error; err != nil {
			t.Fatal(err)
		}
		received := map[string]string{} // the texts of the events, with a semicolon after each poll
		poll := func() {
			for name, f := range followers {
				received[name] += textsOf(t, f) + ";"
			}
		}
		poll()
		commit()
		poll()
		poll()
		for name, want := range map[string]string{"id > last": " early;;;", "overlap": " early; late;;", "no overlap": " early;;;"} {
			if received[name] != want {
				t.Errorf("%s received %q, want %q", name, received[name], want)
			}
		}
	})
}

// TestTransactionsLateCommit checks the follower that reads by the numbers of PostgreSQL's
// transactions. The event "early" is committed while the older transaction of the event
// "late" still runs. The follower must return neither event before this transaction has
// ended, and then both.
func TestTransactionsLateCommit(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	use(t, db)
	exact, err := followTransactions(db)
	if err != nil {
		t.Fatal(err)
	}
	commit := writeLate(t, db, "late")
	if err := db.Create(&Event{Text: "early"}).Error; err != nil {
		t.Fatal(err)
	}
	if got := textsOf(t, exact); got != "" {
		t.Errorf("received%s before the older transaction has ended", got)
	}
	commit()
	got := textsOf(t, exact)
	for len(strings.Fields(got)) < 2 { // transactions of other tests on the server delay each event
		time.Sleep(10 * time.Millisecond)
		got += textsOf(t, exact)
	}
	if want := " late early"; got != want {
		t.Errorf("received%s, want%s", got, want)
	}
}

// writeLate assigns a key, and returns a function that commits the row. SQLite has only
// one writer, so there the function also inserts the row.
func writeLate(t *testing.T, db *gorm.DB, text string) (commit func()) {
	t.Helper()
	event := Event{Text: text}
	if err := gormflake.Assign(db, &event); err != nil {
		t.Fatal(err)
	}
	if db.Name() == "sqlite" {
		return func() {
			if err := db.Create(&event).Error; err != nil {
				t.Fatal(err)
			}
		}
	}
	tx := db.Begin()
	if err := tx.Create(&event).Error; err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Commit().Error; err != nil {
			t.Fatal(err)
		}
	}
}

// textsOf polls the follower, and returns the texts of its events.
func textsOf(t *testing.T, f follower) (texts string) {
	t.Helper()
	events, err := f.poll()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		texts += " " + e.Text
	}
	return texts
}

// withLongTimeout returns a handle of the same database of SQLite that waits longer for
// its turn to write, because six writers in turn can keep a seventh waiting on a busy
// machine. It returns db itself for the other databases.
func withLongTimeout(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	if db.Name() != "sqlite" {
		return db
	}
	var number, name, file string
	if err := db.Raw("PRAGMA database_list").Row().Scan(&number, &name, &file); err != nil {
		t.Fatal(err)
	}
	if d, ok := db.Dialector.(*sqlite.Dialector); ok && d.DriverName != "sqlite" { // the cgo driver
		return testdb.OpenWith(t, sqlite.Open("file:"+file+"?_busy_timeout=60000&_journal_mode=WAL&_txlock=immediate"))
	}
	dialector, err := dsn.Open("sqlite://" + filepath.ToSlash(file) + "?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	return testdb.OpenWith(t, dialector)
}

// TestEachEventOnce checks that each event is received once while six goroutines write.
func TestEachEventOnce(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		db = withLongTimeout(t, db)
		layout, begun := use(t, db), time.Now()
		ways := []*way{{follower: &overlapFollower{db: db, layout: layout, overlap: time.Hour, since: begun}, complete: true}}
		if db.Name() == "postgres" {
			exact, err := followTransactions(db)
			if err != nil {
				t.Fatal(err)
			}
			ways = append(ways, &way{follower: exact, complete: true})
		}
		if err := followWhileWriting(db, ways); err != nil {
			t.Fatal(err)
		}
		for _, w := range ways {
			if w.received != events {
				t.Errorf("%T received %d events, want %d", w.follower, w.received, events)
			}
		}
	})
}

// TestRun checks that the program runs on each database, and that the overlap misses no
// event.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			dsn := ""
			if target != testdb.SQLite {
				dsn = testdb.DSN(t, target)
			}
			var out bytes.Buffer
			if err := run(t.Context(), dsn, log.New(&out, "", 0)); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			want := fmt.Sprintf("re-read an overlap  %d received, 0 missed", events)
			if !strings.Contains(out.String(), want) {
				t.Errorf("output lacks %q:\n%s", want, &out)
			}
			t.Log(out.String())
		})
	}
}

// use opens a generator and creates the table, as run does.
func use(t *testing.T, db *gorm.DB) snowflake.Layout {
	t.Helper()
	gen, err := gormflake.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	if err := prepare(db); err != nil {
		t.Fatal(err)
	}
	return gen.Layout()
}
