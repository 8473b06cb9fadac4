package workers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// sampleRecords returns records of workers that are held, lapsed, waiting and free at
// noon, in this order. Their keys are 32 times the datacenter plus the worker. An owner that
// ends with /released has released the worker.
func sampleRecords() map[int]lease.Record {
	at := clitest.Noon.UnixMilli()
	return map[int]lease.Record{
		0:  {Bound: at + 42_000, Owner: "web-1/11/AAAA/5/0/60000"},
		7:  {Bound: at - 3*3600_000, Owner: "web-2/12/BBBB/6/0/60000"},
		33: {Bound: at + 1_500, Owner: "web-3/13/CCCC/7/0/60000/released"},
		34: {Bound: at},
	}
}

// sampleTable is the table that workers prints of sampleRecords.
const sampleTable = `41 bits of 1ms since 2010-11-04T01:42:54.657Z, 5 datacenter, 5 worker, 12 sequence

DATACENTER  WORKER  STATE    BOUND                     FROM NOW   OWNER
0           0       held     2026-11-21T12:00:42.000Z  in 42.0s   web-1/11/AAAA
0           7       lapsed   2026-11-21T09:00:00.000Z  3h 0m ago  web-2/12/BBBB
1           1       waiting  2026-11-21T12:00:01.500Z  in 1.5s    -

1 free one: see --all
`

// workers prints the records as a table, without the free worker, and as JSON with it. A
// namespace without records is not an error.
func TestWorkers(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Records(t, url, sampleRecords())
		if got := clitest.Printed(t, clitest.AtNoon(nil, "workers", "--dsn", url)); got != sampleTable {
			t.Errorf("workers prints\n%s\nwant\n%s", got, sampleTable)
		}
		var doc struct {
			Layout  map[string]any
			Workers []map[string]any
		}
		if err := json.Unmarshal([]byte(clitest.Printed(t, clitest.AtNoon(nil, "workers", "--dsn", url, "--json"))), &doc); err != nil {
			t.Fatal(err)
		}
		if w := doc.Workers[1]; len(doc.Workers) != 4 || w["worker"] != 7.0 || w["state"] != "lapsed" || w["lead_ms"] != -3*3600_000.0 || w["bound"] != "2026-11-21T09:00:00.000Z" {
			t.Errorf("workers = %v", doc.Workers)
		}
		if doc.Layout["worker_bits"] != 5.0 || doc.Layout["tick"] != "1ms" {
			t.Errorf("layout = %v", doc.Layout)
		}
		if got := clitest.Printed(t, clitest.AtNoon(nil, "workers", "--dsn", url, "--namespace", "other")); got != "no worker was ever taken in this namespace\n" {
			t.Error(got)
		}
		if got := clitest.Printed(t, clitest.AtNoon(nil, "workers", "--dsn", url, "--namespace", "other", "--json")); !strings.Contains(got, `"layout": null`) || !strings.Contains(got, `"workers": []`) {
			t.Error(got)
		}
	})
}

// Without arguments, workers shows all but free workers. Arguments select workers in any
// state, and are shown in the order of the records.
func TestWorkersChosen(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "app.db")
	clitest.Records(t, url, sampleRecords())
	for _, test := range []struct {
		name, args string
		want       []string
	}{
		{"all but the free", "", []string{"0/0", "0/7", "1/1"}},
		{"all", "--all", []string{"0/0", "0/7", "1/1", "1/2"}},
		{"held", "--held", []string{"0/0"}},
		{"one", "0/7", []string{"0/7"}},
		{"one that is free", "1/2", []string{"1/2"}},
		{"of every datacenter", "1", []string{"1/1"}},
		{"several", "1/1 0/0", []string{"0/0", "1/1"}},
		{"one that is not held", "0/7 --held", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := clitest.Printed(t, clitest.AtNoon(nil, append([]string{"workers", "--dsn", url}, strings.Fields(test.args)...)...))
			var got []string
			for _, row := range regexp.MustCompile(`(?m)^(\d+) +(\d+) `).FindAllStringSubmatch(out, -1) {
				got = append(got, row[1]+"/"+row[2])
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("shows %q, want %q:\n%s", got, test.want, out)
			}
		})
	}
	clitest.WantUsage(t, clitest.AtNoon(nil, "workers", "relase", "--dsn", url), `unknown command "relase" for "gormflake workers": want one, or a worker such as 0/7`)
	clitest.WantUsage(t, clitest.AtNoon(nil, "workers", "0/x", "--dsn", url), `worker "0/x": want DATACENTER/WORKER, such as 0/7`)
	clitest.WantOneLine(t, clitest.AtNoon(nil, "workers", "5", "--dsn", url), "worker 5 was never taken in any datacenter")
	clitest.WantOneLine(t, clitest.AtNoon(nil, "workers", "0/5", "--dsn", url), "datacenter 0 worker 5 was never taken")
}

// If there is no table of workers, workers and release fail, and do not create it. If there
// is no file of SQLite, they and gen fail, and do not create it.
func TestWorkersOfNothing(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Touch(t, url)
		clitest.WantOneLine(t, clitest.Command(t, "workers", "--dsn", url), "there is no table snowflake_workers")
		clitest.WantOneLine(t, clitest.Command(t, "workers", "release", "0/1", "--yes", "--dsn", url), "there is no table snowflake_workers")
		if clitest.Open(t, url).Migrator().HasTable("snowflake_workers") {
			t.Error("the table was created")
		}
	})
	missing := filepath.Join(t.TempDir(), "app.db")
	for _, args := range [][]string{{"workers"}, {"workers", "release", "0/1", "--yes"}, {"gen"}} {
		clitest.WantOneLine(t, clitest.Command(t, append(args, "--dsn", "sqlite://"+missing)...), "database: there is no file "+missing)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the file was created")
	}
	clitest.Printed(t, clitest.Command(t, "gen", "--dsn", "sqlite://:memory:")) // needs no file
}

// release takes a worker from its holder and leaves the bound as it is. A worker without a
// holder is an error.
func TestWorkersRelease(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Records(t, url, sampleRecords())
		release := func(name string) clitest.Outcome {
			return clitest.AtNoon(nil, "workers", "release", name, "--yes", "--dsn", url)
		}
		clitest.WantOutcome(t, release("0/0"), 0, "datacenter 0 worker 0 is no longer held by web-1/11/AAAA; it is free in 42.0s, at 2026-11-21T12:00:42.000Z\n", "")
		clitest.WantOutcome(t, release("0/7"), 0, "datacenter 0 worker 7 is no longer held by web-2/12/BBBB; it is free\n", "")
		clitest.WantOneLine(t, release("0/7"), "datacenter 0 worker 7 is held by nobody")
		clitest.WantOneLine(t, release("1/1"), "datacenter 1 worker 1 is held by nobody")
		clitest.WantOneLine(t, release("0/5"), "datacenter 0 worker 5 was never taken")
		for _, name := range []string{"7", "0/", "/7", "0/x", "-1", "0/7/1", "0/-7"} {
			clitest.WantUsage(t, clitest.AtNoon(nil, "workers", "release", "--yes", "--dsn", url, "--", name), "want DATACENTER/WORKER, such as 0/7")
		}
		got, err := sqllease.New(clitest.Open(t, url)).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for key, before := range sampleRecords() {
			if r := got[key]; r.Owner != "" && !strings.HasSuffix(r.Owner, "/released") || r.Bound != before.Bound {
				t.Errorf("record %d = %+v, want the bound %d and no holder", key, r, before.Bound)
			}
		}
	})
}

// A name that is not a worker fails before any other worker is released.
func TestWorkersReleaseSeveral(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "app.db")
	clitest.Records(t, url, sampleRecords())
	release := func(names ...string) clitest.Outcome {
		return clitest.AtNoon(nil, append([]string{"workers", "release", "--yes", "--dsn", url}, names...)...)
	}
	clitest.WantOneLine(t, release("0/0", "0/5"), "datacenter 0 worker 5 was never taken")
	if got := clitest.Printed(t, clitest.AtNoon(nil, "workers", "--dsn", url)); got != sampleTable {
		t.Errorf("a wrong name among others has changed records:\n%s", got)
	}
	clitest.WantOutcome(t, release("0/0", "0/7"), 0, "datacenter 0 worker 0 is no longer held by web-1/11/AAAA; it is free in 42.0s, at 2026-11-21T12:00:42.000Z\n"+
		"datacenter 0 worker 7 is no longer held by web-2/12/BBBB; it is free\n", "")
}

// If standard input is not a terminal, release needs --yes.
func TestWorkersReleaseAsks(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "app.db")
	clitest.Records(t, url, sampleRecords())
	clitest.WantUsage(t, clitest.AtNoon(strings.NewReader("y\n"), "workers", "release", "0/0", "--dsn", url), "give --yes; nothing has been changed")
	if got := clitest.Printed(t, clitest.AtNoon(nil, "workers", "--dsn", url)); got != sampleTable {
		t.Errorf("the records have changed:\n%s", got)
	}
}

// A holder that loses its worker continues with another worker, and repeats no ID.
func TestWorkersReleaseAlive(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Touch(t, url)
		stop, next := clitest.Holder(t, url)
		defer stop()
		first := next()
		seen := map[types.ID]bool{first: true}
		releaseAlive(t, url, workerOf(first))
		waitUntil(t, "the holder changes to another worker", func() bool {
			id := next()
			if seen[id] {
				t.Fatalf("ID %v came twice", id)
			}
			seen[id] = true
			return workerOf(id) != workerOf(first)
		})
	})
}

// workerOf returns the worker that has issued an ID.
func workerOf(id types.ID) int64 { return snowflake.TwitterLayout().Decompose(id).Worker }

// releaseAlive releases a worker whose holder runs. The command fails if the holder renews its
// lease after the command has read the record and before it writes the record. releaseAlive
// then runs the command again.
func releaseAlive(t *testing.T, url string, worker int64) {
	t.Helper()
	waitUntil(t, "the worker is released", func() bool {
		got := clitest.Command(t, "workers", "release", fmt.Sprint("0/", worker), "--yes", "--dsn", url)
		if got.Code != clitest.OK {
			clitest.WantOneLine(t, got, "it is alive")
		}
		return got.Code == clitest.OK
	})
}

// waitUntil calls reached until it returns true, and fails the test after
// [clitest.Patience].
func waitUntil(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for began := time.Now(); !reached(); {
		if time.Since(began) > clitest.Patience {
			t.Fatalf("not after %v: %s", clitest.Patience, what)
		}
	}
}

// ddl prints the statement of package sqllease, with the name of --table quoted.
func TestWorkersDDL(t *testing.T) {
	t.Parallel()
	for dialect, quoted := range map[string]string{"sqlite": `"ids"."workers"`, "mysql": "`ids`.`workers`", "postgres": `"ids"."workers"`} {
		want, err := sqllease.DDL(dialect, sqllease.WithTable("ids.workers"))
		if err != nil {
			t.Fatal(err)
		}
		got := clitest.Printed(t, clitest.Command(t, "workers", "ddl", "--dialect", dialect, "--table", "ids.workers"))
		if got != want || !strings.Contains(got, quoted) {
			t.Errorf("%s: %s, want %s", dialect, got, want)
		}
	}
}

// The store accepts the table that ddl prints.
func TestWorkersDDLWorks(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		clitest.Execute(t, db, clitest.Printed(t, clitest.Command(t, "workers", "ddl", "--dialect", db.Dialector.Name())))
		if got := clitest.Printed(t, clitest.Command(t, "workers", "--dsn", url)); !strings.Contains(got, "no worker was ever taken") {
			t.Error(got)
		}
		clitest.Printed(t, clitest.Command(t, "gen", "--dsn", url))
	})
}
