package workers_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
)

// Commands show, release and raise workers in Redis, etcd and ZooKeeper as they do in
// databases.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		start func(t *testing.T) string
	}{
		{"Redis", func(t *testing.T) string { return testserver.Redis(t).URL() + "/0" }},
		{"etcd", func(t *testing.T) string { return "etcd://" + testserver.Etcd(t).Address() }},
		{"ZooKeeper", func(t *testing.T) string { return "zookeeper://" + testserver.ZooKeeper(t).URL() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := test.start(t)
			store := openRemote(t, url)
			clitest.Write(t, store, sampleRecords())
			command := func(args ...string) clitest.Outcome {
				return clitest.AtNoon(nil, append([]string{"workers"}, append(args, "--dsn", url)...)...)
			}
			if got := clitest.Printed(t, command()); got != sampleTable {
				t.Errorf("workers prints\n%s\nwant\n%s", got, sampleTable)
			}
			if got := clitest.Printed(t, command("--namespace", "other")); !strings.Contains(got, "no worker was ever taken") {
				t.Errorf("workers of another namespace prints\n%s", got)
			}
			clitest.WantOutcome(t, command("release", "0/0", "--yes"), clitest.OK, "datacenter 0 worker 0 is no longer held by web-1/11/AAAA; it is free in 42.0s", "")
			clitest.WantOutcome(t, command("raise", "--to", "now+10s", "--yes"), clitest.OK, "1023 bounds have been raised", "1020 of them of workers without a record")
			records, err := store.Load(t.Context())
			at := clitest.Noon.Add(10 * time.Second).UnixMilli()
			if err != nil || !strings.HasSuffix(records[0].Owner, "/released") || records[7].Bound != at || len(records) != 1024+1 { // a record for each worker, and one for the layout
				t.Errorf("%d records, worker 0 %v, worker 7 %v, error %v", len(records), records[0], records[7], err)
			}
			issued := clitest.Command(t, "gen", "--dsn", url, "--namespace", "issued", "-n", "2")
			if got := command("--namespace", "issued", "--all"); issued.Code != clitest.OK || len(clitest.Lines(issued.Out)) != 2 || strings.Count(got.Out, "  waiting  ") != 1 {
				t.Errorf("gen: %+v; then workers:\n%s", issued, got.Out)
			}
			clitest.WantOutcome(t, command("reset", "0/0", "--dry-run"), clitest.Usage, "", "--dsn: want a database")
			clitest.WantOutcome(t, command("--table", "others"), clitest.Usage, "", `--table "others": want a database`)
		})
	}
}

// openRemote opens a store in the default namespace.
func openRemote(t *testing.T, url string) lease.Store {
	t.Helper()
	store, err := leasestore.Open(t.Context(), url, "default", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store.Store
}
