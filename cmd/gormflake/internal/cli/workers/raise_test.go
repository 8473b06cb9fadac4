package workers_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// storedRecords returns the records of the workers in a database.
func storedRecords(t *testing.T, url string) map[int]lease.Record {
	t.Helper()
	got, err := sqllease.New(clitest.Open(t, url)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	delete(got, -1) // the record of the layout
	return got
}

// raise raises all bounds that are below the time of --to, and does not change higher bounds.
// A worker without a record gets a record with the new bound. --dry-run only prints the plan.
// Of the 1024 workers, sampleRecords has four, and only worker 0 of datacenter 0 has a higher
// bound.
func TestWorkersRaise(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Records(t, url, sampleRecords())
		raise := func(args ...string) clitest.Outcome {
			return clitest.AtNoon(nil, append([]string{"workers", "raise", "--dsn", url}, args...)...)
		}
		plan := "1023 of 1024 bounds are below 2026-11-21T12:00:10.000Z and would be raised to it, 1020 of them of workers without a record\n"
		clitest.WantOutcome(t, raise("--to", "now+10s", "--dry-run"), 0, plan, "")
		if got := storedRecords(t, url); !maps.Equal(got, sampleRecords()) {
			t.Errorf("a dry run has written %v", got)
		}
		clitest.WantOutcome(t, raise("--to", "now+10s"), clitest.Usage, "", "give --yes; nothing has been changed")
		const done = "1023 bounds have been raised; no worker whose bound was raised is free before 2026-11-21T12:00:10.000Z, in 10.0s\n"
		clitest.WantOutcome(t, raise("--to", "now+10s", "--yes"), 0, done, plan)
		got := storedRecords(t, url)
		at := clitest.Noon.Add(10 * time.Second).UnixMilli()
		if len(got) != 1024 || got[0] != sampleRecords()[0] || got[7].Bound != at || !strings.HasSuffix(got[7].Owner, "/released") {
			t.Errorf("%d records, of which %v and %v", len(got), got[0], got[7])
		}
		for key, r := range got {
			if r.Bound < at {
				t.Errorf("record %d = %v, want a bound of %d or more", key, r, at)
			}
		}
		clitest.WantOutcome(t, raise("--to", "-1h", "--yes"), 0, "1 bound has been raised; nobody has to wait: that time has passed\n",
			"with that write the database acknowledges the others")
	})
}

// The output states how many processes hold one of the workers.
func TestWorkersRaiseHeld(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Records(t, url, sampleRecords())
		got := clitest.Printed(t, clitest.AtNoon(nil, "workers", "raise", "--to", "+1h", "--dsn", url, "--dry-run"))
		if !strings.Contains(got, "1 of these workers is held now: the processes that hold them stop under them") {
			t.Error(got)
		}
	})
}

// A time outside the layout, or more than a day ahead without --force, changes nothing.
func TestWorkersRaiseRefuses(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Records(t, url, sampleRecords())
		raise := func(args ...string) clitest.Outcome {
			return clitest.AtNoon(nil, append([]string{"workers", "raise", "--yes", "--dsn", url, "--to"}, args...)...)
		}
		clitest.WantUsage(t, raise("+25h"), "--to: 2026-11-22T13:00:00.000Z is 1d 1h ahead of the clock, and nobody could issue until then: want at most a day, or --force")
		clitest.WantUsage(t, raise("soon"), `--to: time "soon": want a time such as`)
		clitest.WantOutcome(t, raise("2000-01-01"), clitest.Failed, "", "out of range [2010-11-04T01:42:54.657Z, 2080-07-10T17:30:30.209Z) of the layout\n")
		clitest.WantOneLine(t, raise("now", "--namespace", "other"), "no worker was ever leased in this namespace: there is no bound to raise")
		if got := storedRecords(t, url); !maps.Equal(got, sampleRecords()) {
			t.Errorf("a command that was refused has written %v", got)
		}
		clitest.WantOutcome(t, raise("+25h", "--force"), 0, "1024 bounds have been raised", "1024 of 1024")
	})
}

// The restore of a backup lowers the bounds of the workers to those of the backup, although a
// process has issued IDs since the backup was made. docs/runbooks.md advises to raise the
// bounds before the first process starts. The first ID of this process must then be above all
// earlier IDs, and not before the time to which the bounds were raised.
func TestRestoreRunbook(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Touch(t, url)
		stop, next := clitest.Holder(t, url)
		next()
		backup := storedRecords(t, url)
		last := next()
		// The holder raises its bound after a third of its window of 5 s.
		for began := time.Now(); time.Since(began) < 3*time.Second; {
			last = next()
		}
		stop()
		db := clitest.Open(t, url)
		for key, r := range backup {
			if err := db.Exec("UPDATE snowflake_workers SET bound = ?, owner = ? WHERE worker_id = ?", r.Bound, r.Owner, key).Error; err != nil {
				t.Fatal(err)
			}
		}
		to := time.Now().Add(3 * time.Second)
		got := clitest.Command(t, "workers", "raise", "--to", to.Format(time.RFC3339Nano), "--yes", "--dsn", url)
		if got.Code != 0 {
			t.Fatal(got.Err)
		}
		// The next process starts before the raised bounds have passed. Only these bounds keep
		// it from issuing IDs below the time of --to.
		if time.Now().After(to) {
			t.Log("too slow: the raised bounds have passed already")
		}
		stop, next = clitest.Holder(t, url)
		defer stop()
		if id := next(); id <= last || id < snowflake.TwitterLayout().Min(to) {
			t.Errorf("ID %v after the restore, want it above %v and not before %v", id, last, to)
		}
	})
}

// mode=ro in the URL of a file makes a command that writes fail.
func TestRaiseKeepsModeOfURL(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Records(t, url, map[int]lease.Record{7: {Bound: 1, Owner: "dead"}})
	raise := func(url string) clitest.Outcome {
		return clitest.Command(t, "workers", "raise", "--to", "now", "--yes", "--dsn", url)
	}
	clitest.WantOutcome(t, raise(url+"?mode=ro"), clitest.Failed, "", "readonly")
	clitest.WantOutcome(t, raise(url), clitest.OK, "bounds have been raised", "would be raised")
}
