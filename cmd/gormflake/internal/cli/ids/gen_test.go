package ids_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// gen prints increasing IDs of its worker in each form. The test asks for 5000 IDs, which are
// more than the blockSize of gen. Each subtest uses its own worker, because a process can have
// only one generator for each worker.
func TestGenForms(t *testing.T) {
	t.Parallel()
	pay, err := serial.New("PAY", snowflake.TwitterLayout())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		worker string
		args   string
		parse  func(string) (types.ID, error)
	}{
		{"1", "", types.ParseID},
		{"2", "--as decimal", types.ParseID},
		{"3", "--as base32", types.ParseBase32},
		{"4", "--as base58", types.ParseBase58},
		{"5", "--as base62", types.ParseBase62},
		{"6", "--as serial --code PAY", pay.Parse},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"gen", "--worker", test.worker, "--datacenter", "2", "-n", "5000"}, strings.Fields(test.args)...)
			got := clitest.Lines(clitest.Printed(t, clitest.Command(t, args...)))
			if len(got) != 5000 {
				t.Fatalf("%d lines, want 5000", len(got))
			}
			var last types.ID
			for _, line := range got {
				id, err := test.parse(line)
				if err != nil || id <= last {
					t.Fatalf("line %q after ID %v: %v", line, last, err)
				}
				last = id
			}
			if p := snowflake.TwitterLayout().Decompose(last); p.Datacenter != 2 || types.ID(p.Worker).String() != test.worker {
				t.Errorf("%+v is of another worker", p)
			}
		})
	}
}

// --layout changes the layout of the IDs. An ID of js-safe has 53 bits.
func TestGenLayout(t *testing.T) {
	t.Parallel()
	out := clitest.Printed(t, clitest.Command(t, "gen", "--worker", "9", "--layout", "js-safe"))
	if id := types.MustParseID(strings.TrimSpace(out)); id >= 1<<53 || snowflake.JSSafeLayout().Decompose(id).Worker != 9 {
		t.Errorf("ID %v is not of the layout", id)
	}
}

// gen --time composes the same ID every time, and needs no database.
func TestGenTime(t *testing.T) {
	t.Parallel()
	args := strings.Fields("gen --time 2026-11-21T11:00:00Z --datacenter 1 --worker 7 --sequence 42")
	for form, want := range map[string]string{"decimal": "2124095476331606058", "serial --code PAY": "PAY2026112111000000001070042"} {
		got := clitest.Printed(t, clitest.AtNoon(nil, append(args, strings.Fields("--as "+form)...)...))
		if got != want+"\n" {
			t.Errorf("--as %s: %q, want %q", form, got, want)
		}
	}
	if got := clitest.Printed(t, clitest.AtNoon(nil, "gen", "--time", "-1h", "--json")); !strings.Contains(got, `"time":"2026-11-21T11:00:00.000Z"`) {
		t.Errorf("an hour before noon: %s", got)
	}
	for _, test := range []struct{ args, want string }{
		{"--time 2026-11-21 --worker 32", "worker 32 out of range [0, 31]"},
		{"--time 2026-11-21 --sequence 4096", "sequence 4096 out of range [0, 4095]"},
		{"--time 2000-01-01", "out of range [2010-11-04"},
		{"--time soon", `time "soon": want a time such as`},
		{"--time 2026-11-21 -n 2", "[count time]"},
		{"--time 2026-11-21 --dsn sqlite://app.db", "[dsn time]"},
		{"--worker 7 --sequence 1", "--sequence is for the ID of --time"},
	} {
		clitest.WantUsage(t, clitest.AtNoon(nil, append([]string{"gen"}, strings.Fields(test.args)...)...), test.want)
	}
}

// --json prints an ID with its parts and other forms, one a line.
func TestGenJSON(t *testing.T) {
	t.Parallel()
	got := clitest.Lines(clitest.Printed(t, clitest.Command(t, "gen", "--worker", "8", "-n", "2", "--json", "--code", "PAY")))
	if len(got) != 2 {
		t.Fatalf("lines = %q, want 2", got)
	}
	var record struct {
		ID     types.ID
		Worker int64
		Base32 string
		Serial string
	}
	if err := json.Unmarshal([]byte(got[1]), &record); err != nil {
		t.Fatal(err)
	}
	if record.Worker != 8 || record.ID.Base32() != record.Base32 || !strings.HasPrefix(record.Serial, "PAY20") {
		t.Errorf("record = %+v", record)
	}
}

// Concurrent processes lease different workers, so that no ID is issued twice, and release
// them at the end. A process without --layout uses the layout that the database stores.
// Another layout in --layout is an error.
func TestGenLeased(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Open(t, url) // creates the file of SQLite
		clitest.Touch(t, url)
		results := make(chan clitest.Outcome)
		const processes, each = 4, 1000
		for range processes {
			go func() {
				results <- clitest.CommandWith(t.Context(), nil, "gen", "--dsn", url, "-n", "1000", "--layout", "js-safe")
			}()
		}
		var ids []string
		for range processes {
			ids = append(ids, clitest.Lines(clitest.Printed(t, <-results))...)
		}
		ids = append(ids, clitest.Lines(clitest.Printed(t, clitest.Command(t, "gen", "--dsn", url)))...)
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); n != processes*each+1 {
			t.Errorf("%d different IDs, want %d", n, processes*each+1)
		}
		if id := types.MustParseID(ids[len(ids)-1]); id >= 1<<53 {
			t.Errorf("ID %v is not of the database's layout", id)
		}
		if out := clitest.Printed(t, clitest.Command(t, "workers", "--dsn", url)); strings.Contains(out, "held") || strings.Contains(out, "lapsed") {
			t.Errorf("a worker was not released:\n%s", out)
		}
		clitest.WantOneLine(t, clitest.Command(t, "gen", "--dsn", url, "--layout", "twitter"), "use the stored layout, or a new namespace")
	})
}

// A worker outside the layout is a usage error, also if the layout comes from the database. A
// command with this error does not create the table of workers. The layout js-safe has 64
// workers and no datacenters.
func TestGenLeaseMistakes(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Touch(t, url)
		gen := func(args ...string) clitest.Outcome {
			return clitest.Command(t, append([]string{"gen", "--dsn", url}, args...)...)
		}
		clitest.WantUsage(t, gen("--worker", "40"), "--worker: lease: WithWorker: worker 40 out of range [0, 31]")
		clitest.WantOneLine(t, clitest.Command(t, "workers", "--dsn", url), "there is no table snowflake_workers")
		clitest.Printed(t, gen("--worker", "40", "--layout", "js-safe"))
		clitest.Printed(t, gen("--worker", "41"))
		clitest.WantUsage(t, gen("--worker", "64"), "--worker: lease: WithWorker: worker 64 out of range [0, 63]")
		clitest.WantUsage(t, gen("--datacenter", "1"), "--datacenter: lease: WithDatacenter: datacenter 1 out of range [0, 0]")
	})
}

// gen checks --window against the tick of the flags. It accepts three ticks of --tick,
// and so fails only because the file does not exist.
func TestGenLongTick(t *testing.T) {
	t.Parallel()
	args := "gen --dsn sqlite://none.db --layout js-safe --tick 1m --window 3m --worker 1"
	clitest.WantOneLine(t, clitest.Command(t, strings.Fields(args)...), "there is no file none.db")
}
