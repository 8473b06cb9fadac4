package workers_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// wrongRecord is the record of a worker whose bound was raised by a clock of 2050. The last
// number of the owner is the window of the lease in milliseconds.
var wrongRecord = lease.Record{
	Bound: time.Date(2050, 1, 1, 0, 1, 0, 0, time.UTC).UnixMilli(),
	Owner: "web-1/11/ABCDEFGHIJKLMNOPQRSTUVWXYZ/5/0/60000",
}

// writeWrongClock writes worker 7 with wrongRecord and worker 8 with a window of 5m. It
// creates table orders with a BIGINT key, whose keys reset searches, and tables with other
// keys, which it does not search.
func writeWrongClock(t *testing.T, url string) *gorm.DB {
	t.Helper()
	clitest.Records(t, url, map[int]lease.Record{
		7: wrongRecord,
		8: {Bound: time.Now().UnixMilli(), Owner: "web-2/12/ABCDEFGHIJKLMNOPQRSTUVWXYZ/5/0/300000"},
	})
	db := clitest.Open(t, url)
	clitest.Execute(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY, parent_id BIGINT)", "CREATE TABLE notes (name VARCHAR(20) PRIMARY KEY)")
	if db.Name() != "sqlite" { // SQLite has no narrower integer type
		clitest.Execute(t, db, "CREATE TABLE steps (id INT PRIMARY KEY)")
	}
	return db
}

// insertKey inserts a row into orders, whose key is an ID of this time. node is the
// datacenter and the worker, five bits each, as they stand in an ID.
func insertKey(t *testing.T, db *gorm.DB, node int64, at time.Time) types.ID {
	t.Helper()
	id := clitest.Compose(t, snowflake.Parts{Time: at, Datacenter: node >> 5, Worker: node & 31, Sequence: 42})
	clitest.Execute(t, db, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", id))
	return id
}

// reset runs workers reset, and calls wait in place of the wait of the command.
func reset(t *testing.T, wait func(time.Duration) error, url string, args ...string) clitest.Outcome {
	t.Helper()
	return resetUntil(t.Context(), wait, url, args...)
}

// resetUntil runs workers reset, and calls wait in place of the wait of the command. The end
// of ctx interrupts the command.
func resetUntil(ctx context.Context, wait func(time.Duration) error, url string, args ...string) clitest.Outcome {
	var out, errs bytes.Buffer
	code := cli.Main(ctx, append([]string{"workers", "reset", "--dsn", url}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &errs,
		Wait: func(_ context.Context, d time.Duration) error { return wait(d) },
	})
	return clitest.Outcome{Code: code, Out: out.String(), Err: errs.String()}
}

// noWait stands for a wait that ends at once.
func noWait(time.Duration) error { return nil }

// A clock of 2050 has raised the bound of worker 7. reset takes the worker from its holder,
// waits for the longest window of the records, and lowers the bound. It ignores keys of other
// workers, keys of parked counters, and keys below the new bound. A second reset is an error,
// because the bound is near now.
func TestWorkersReset(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := writeWrongClock(t, url)
		insertKey(t, db, 7, time.Now())                                        // below the new bound
		insertKey(t, db, 8, time.Date(2049, 1, 1, 0, 0, 0, 0, time.UTC))       // of another worker
		insertKey(t, db, 32+7, time.Date(2049, 1, 1, 0, 0, 0, 0, time.UTC))    // of another datacenter
		insertKey(t, db, 1023-31, time.Date(2049, 1, 1, 0, 0, 0, 0, time.UTC)) // worker 0 of datacenter 31
		insertKey(t, db, 7, parking.NewPlace(snowflake.TwitterLayout()).Until) // from a parked counter
		waited := time.Duration(0)
		got := reset(t, func(d time.Duration) error {
			waited += d
			if r := storedRecords(t, url)[7]; r.Bound != wrongRecord.Bound || !strings.HasSuffix(r.Owner, "/released") {
				t.Errorf("record = %v, want it released before the wait", r)
			}
			return nil
		}, url, "0/7", "--yes")
		clitest.WantOutcome(t, got, 0, "datacenter 0 worker 7: the bound is lowered from 2050-01-01T00:01:00.000Z to ", "searched for keys of the worker: orders.id\n")
		for _, want := range []string{"not searched, for want of a BIGINT primary key: ", "notes", "stop every process that has held the worker", "taken from web-1/11/ABCDEFGHIJKLMNOPQRSTUVWXYZ\n"} {
			if !strings.Contains(got.Err, want) {
				t.Errorf("want %q in\n%s", want, got.Err)
			}
		}
		if waited != 5*time.Minute {
			t.Errorf("waited %v, want 5m, the longest window of the records", waited)
		}
		if bound := time.UnixMilli(storedRecords(t, url)[7].Bound); time.Until(bound) < 4*time.Minute || time.Until(bound) > 6*time.Minute {
			t.Errorf("bound = %v, want it 5m ahead of the clock", bound)
		}
		clitest.WantOneLine(t, reset(t, noWait, url, "0/7", "--yes"), "waiting for it is enough")
	})
}

// --dry-run shows what reset would do, and changes nothing. Without --yes and without a
// terminal, reset fails, because it cannot ask.
func TestWorkersResetShows(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		writeWrongClock(t, url)
		before := storedRecords(t, url)
		got := clitest.Printed(t, reset(t, noWait, url, "0/7", "--dry-run"))
		if !regexp.MustCompile(`datacenter 0 worker 7 by web-1/11/ABCDEFGHIJKLMNOPQRSTUVWXYZ until 2050-01-01T00:01:00\.000Z: its bound is \d+y `).MatchString(got) {
			t.Error(got)
		}
		clitest.WantOutcome(t, reset(t, noWait, url, "0/7"), clitest.Usage, "", "give --yes; nothing has been changed")
		if after := storedRecords(t, url); !maps.Equal(after, before) {
			t.Errorf("records = %v, want %v", after, before)
		}
	})
}

// If a key of the worker is above the new bound, reset changes nothing. If a program inserts
// such a key during the wait, reset has released the worker already, but does not lower the
// bound.
func TestWorkersResetFindsKeys(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := writeWrongClock(t, url)
		before := storedRecords(t, url)
		id := insertKey(t, db, 7, time.Date(2049, 12, 31, 0, 0, 0, 0, time.UTC))
		want := fmt.Sprintf("orders.id has keys of this worker from above the new bound, the highest is %d, of 2049-12-31T00:00:00.000Z: they would be issued once more", id)
		clitest.WantOutcome(t, reset(t, noWait, url, "0/7", "--yes"), clitest.Failed, "", want)
		clitest.WantOutcome(t, reset(t, noWait, url, "0/7", "--dry-run"), clitest.Failed, "searched for keys", want)
		clitest.Execute(t, db, "DELETE FROM orders", fmt.Sprintf("INSERT INTO orders (id, parent_id) VALUES (1, %d)", id))
		clitest.WantOutcome(t, reset(t, noWait, url, "0/7", "--yes", "--column", "orders.parent_id"), clitest.Failed, "", "orders.parent_id has keys of this worker")
		if after := storedRecords(t, url); !maps.Equal(after, before) {
			t.Errorf("records = %v, want %v", after, before)
		}
		late := func(time.Duration) error {
			insertKey(t, db, 7, time.Date(2049, 12, 31, 0, 0, 0, 0, time.UTC))
			return nil
		}
		clitest.WantOutcome(t, reset(t, late, url, "0/7", "--yes"), clitest.Failed, "", "the bound is not lowered, and nobody holds the worker: run the same command again")
		if r := storedRecords(t, url)[7]; r.Bound != wrongRecord.Bound {
			t.Errorf("record = %v, want the bound %d", r, wrongRecord.Bound)
		}
	})
}

// A key in an open transaction is invisible until the transaction commits, so reset waits for
// open transactions. During the wait of the first reset, a transaction inserts a key and stays
// open, so this reset ends at --timeout. The second reset waits for the commit, and then finds
// the key.
func TestWorkersResetWaitsForTransactions(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := writeWrongClock(t, url)
		tx := db.Begin()
		defer tx.Rollback()
		id := clitest.Compose(t, snowflake.Parts{Time: time.Date(2049, 12, 31, 0, 0, 0, 0, time.UTC), Worker: 7, Sequence: 42})
		begin := func(time.Duration) error {
			if db.Name() == "sqlite" { // the lock of an earlier transaction would keep reset from releasing the worker
				tx = db.Begin()
			}
			return tx.Exec(fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", id)).Error
		}
		if db.Name() == "sqlite" {
			tx.Rollback()
		}
		clitest.WantOutcome(t, reset(t, begin, url, "0/7", "--yes", "--timeout", "500ms"), clitest.Failed, "", "transactions are still open after 500ms (see --timeout): ")
		if r := storedRecords(t, url)[7]; r.Bound != wrongRecord.Bound {
			t.Errorf("record = %v, want the bound %d", r, wrongRecord.Bound)
		}
		done := make(chan error, 1)
		go func() {
			time.Sleep(time.Second)
			done <- tx.Commit().Error
		}()
		clitest.WantOutcome(t, reset(t, noWait, url, "0/7", "--yes"), clitest.Failed, "", "orders.id has keys of this worker")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A prepared transaction has no session, and reset waits for its end too. The transaction is
// the newest of the server, so that no later transaction shows that it is still open.
func TestWorkersResetWaitsForPreparedTransactions(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t, "max_prepared_transactions=5").URL()
	db := writeWrongClock(t, url)
	id := clitest.Compose(t, snowflake.Parts{Time: time.Date(2049, 12, 31, 0, 0, 0, 0, time.UTC), Worker: 7, Sequence: 42})
	prepare := func(time.Duration) error {
		return db.Connection(func(session *gorm.DB) error {
			for _, statement := range []string{"BEGIN", fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", id), "PREPARE TRANSACTION 'late'"} {
				if err := session.Exec(statement).Error; err != nil {
					return err
				}
			}
			return nil
		})
	}
	clitest.WantOutcome(t, reset(t, prepare, url, "0/7", "--yes", "--timeout", "500ms"), clitest.Failed, "", "a prepared one: see pg_prepared_xacts")
	clitest.Execute(t, db, "COMMIT PREPARED 'late'")
	clitest.WantOutcome(t, reset(t, noWait, url, "0/7", "--yes"), clitest.Failed, "", "orders.id has keys of this worker")
}

// A process that acquires the worker during the wait keeps it.
func TestWorkersResetTaken(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := writeWrongClock(t, url)
		taken := wrongRecord.Bound + 60_000
		take := func(time.Duration) error {
			return db.Exec("UPDATE snowflake_workers SET bound = ?, owner = 'taker' WHERE worker_id = 7", taken).Error
		}
		clitest.WantOutcome(t, reset(t, take, url, "0/7", "--yes"), clitest.Failed, "", "the record has changed in the meantime: datacenter 0 worker 7 by taker")
		if r := storedRecords(t, url)[7]; r.Bound != taken {
			t.Errorf("record = %v, want it as the taker has written it", r)
		}
	})
}

// After an interrupt during the wait, the worker is released and its bound is unchanged.
// The same command then resumes.
func TestWorkersResetInterrupted(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	writeWrongClock(t, url)
	ctx, interrupt := context.WithCancel(t.Context())
	got := resetUntil(ctx, func(time.Duration) error { interrupt(); return ctx.Err() }, url, "0/7", "--yes")
	clitest.WantOutcome(t, got, clitest.Interrupted, "", "interrupted; the bound is not lowered, and nobody holds the worker: run the same command again")
	clitest.WantOutcome(t, reset(t, noWait, url, "0/7", "--yes"), 0, "the bound is lowered", "by nobody until 2050")
}

// reset changes nothing if the bound is near, or if the worker or a column does not exist.
func TestWorkersResetRefuses(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Records(t, url, map[int]lease.Record{
			3: {Bound: time.Now().Add(23 * time.Hour).UnixMilli(), Owner: "web-1/11/AAAA/5/0/60000"},
			7: wrongRecord,
		})
		before := storedRecords(t, url)
		for _, test := range []struct {
			args []string
			want string
		}{
			{[]string{"0/3"}, "m: waiting for it is enough; reset is for bounds more than a day ahead of the clock"},
			{[]string{"0/5"}, "datacenter 0 worker 5 was never taken"},
			{[]string{"0/7", "orders"}, `table "orders" cannot be seen, or its primary key does not begin with a BIGINT: give its columns of IDs by --column`},
			{[]string{"0/7", "--column", "orders.parent_id"}, "orders cannot be searched: "},
		} {
			clitest.WantOutcome(t, reset(t, noWait, url, append(test.args, "--yes")...), clitest.Failed, "", test.want)
		}
		clitest.WantUsage(t, reset(t, noWait, url), `wants an argument, WORKER`)
		clitest.WantUsage(t, reset(t, noWait, url, "0/7", "--column", "orders"), `--column "orders": want table.column, such as orders.parent_id`)
		clitest.WantUsage(t, reset(t, noWait, url, "0/7", "--timeout", "0s"), "--timeout 0s: want more than zero")
		if after := storedRecords(t, url); !maps.Equal(after, before) {
			t.Errorf("records = %v, want %v", after, before)
		}
	})
}

// If this machine's clock differs from the database's by more than a minute, reset fails,
// because it computes the new bound from these clocks.
func TestWorkersResetWrongClock(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		url := testdb.URL(t, target)
		writeWrongClock(t, url)
		var out, errs bytes.Buffer
		code := cli.Main(t.Context(), []string{"workers", "reset", "0/7", "--yes", "--dsn", url}, cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &errs,
			Now: func() time.Time { return time.Now().Add(-2 * time.Minute) },
		})
		clitest.WantOneLine(t, clitest.Outcome{Code: code, Out: out.String(), Err: errs.String()}, "behind the database's: correct the clocks first")
	}
}

// reset fails if the account cannot read a table with keys, or cannot see the transactions
// of other accounts.
func TestWorkersResetAccount(t *testing.T) {
	t.Parallel()
	for target, want := range map[testdb.Target]string{
		testdb.MariaDB:  "grant the right PROCESS",
		testdb.MySQL:    "grant the right PROCESS",
		testdb.Postgres: "of other accounts, whose transactions cannot be seen: grant pg_read_all_stats",
	} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			url := testdb.URL(t, target)
			db := writeWrongClock(t, url)
			accountURL, grantee := clitest.Account(t, db, url)
			clitest.Execute(t, db, "GRANT SELECT, INSERT, UPDATE ON snowflake_workers TO "+grantee, "GRANT INSERT ON orders TO "+grantee)
			clitest.WantOutcome(t, reset(t, noWait, accountURL, "0/7", "--yes"), clitest.Failed, "", "orders cannot be searched: ")
			clitest.Execute(t, db, "GRANT SELECT ON orders TO "+grantee)
			tx := db.Begin()
			defer tx.Rollback()
			if err := tx.Exec("SELECT 1").Error; err != nil {
				t.Fatal(err)
			}
			clitest.WantOutcome(t, reset(t, noWait, accountURL, "0/7", "--yes", "--timeout", "500ms"), clitest.Failed, "", want)
			if r := storedRecords(t, url)[7]; r.Bound != wrongRecord.Bound {
				t.Errorf("record = %v, want the bound %d", r, wrongRecord.Bound)
			}
		})
	}
}

// reset works while the holder runs, whose clock is of 2050. The holder loses the worker, and
// continues with another worker. The next holder of the first worker issues IDs of the current
// time.
func TestWorkersResetAlive(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Touch(t, url)
		generator := func(opts ...lease.Option) *snowflake.Generator {
			opts = append(opts, lease.WithDatacenter(0), lease.WithWindow(2*time.Second), lease.WithLogger(slog.New(slog.DiscardHandler)))
			l, err := lease.Acquire(t.Context(), sqllease.New(clitest.Open(t, url)), snowflake.TwitterLayout(), opts...)
			if err != nil {
				t.Fatal(err)
			}
			gen, err := snowflake.New(l)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = gen.Close(context.Background()) })
			return gen
		}
		const ahead = 24 * 365 * 24 * time.Hour // about 24 years, which leads to 2050
		// WithMaxSkew lets the lease accept a clock that is so far ahead of the database's.
		old := generator(lease.WithWorkers(3, 4), lease.WithMaxSkew(2*ahead), lease.WithClock(func() time.Time { return time.Now().Add(ahead) }))
		next := func(gen *snowflake.Generator) snowflake.Parts {
			id, err := gen.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return gen.Layout().Decompose(id)
		}
		worker := next(old).Worker
		wait := func(time.Duration) error {
			time.Sleep(2 * time.Second) // the window of this test's holder
			return nil
		}
		name := fmt.Sprint("0/", worker)
		got := reset(t, wait, url, name, "--yes")
		for got.Code != 0 && strings.Contains(got.Err, "it is alive") { // the holder has renewed its lease just then
			got = reset(t, wait, url, name, "--yes")
		}
		clitest.WantOutcome(t, got, 0, "the bound is lowered", "taken from ")
		if p := next(old); p.Worker == worker {
			t.Errorf("the old holder issues %+v", p)
		}
		taken := generator(lease.WithWorker(worker), lease.WithMaxAhead(2*time.Minute))
		if p := next(taken); p.Worker != worker || time.Until(p.Time) > 2*time.Minute {
			t.Errorf("the next holder issues %+v", p)
		}
	})
}

// The examples of the help work as printed.
func TestWorkersExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"raise", "reset"} {
		for _, args := range clitest.Examples(t, []string{"workers", name}) {
			url := testdb.URL(t, testdb.SQLite)
			writeWrongClock(t, url)
			args[slices.Index(args, "sqlite://app.db")] = url
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), args, cli.Streams{
				In: strings.NewReader(""), Out: &out, Err: &errs,
				Wait: func(context.Context, time.Duration) error { return nil },
			})
			if code != 0 || out.Len() == 0 {
				t.Errorf("%q: code %d, %s%s", args, code, &out, &errs)
			}
		}
	}
}
