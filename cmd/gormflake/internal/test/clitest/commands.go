package clitest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Noon is the time in [AtNoon], so that ages in the output do not change.
var Noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// Sample returns an ID from an hour before noon.
func Sample(t *testing.T) types.ID {
	t.Helper()
	return Compose(t, snowflake.Parts{Time: Noon.Add(-time.Hour), Datacenter: 1, Worker: 7, Sequence: 42})
}

// Compose returns an ID of the default layout.
func Compose(t *testing.T, p snowflake.Parts) types.ID {
	t.Helper()
	id, err := snowflake.TwitterLayout().Compose(p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// AtNoon runs the command line with a standard input and a clock that stands at [Noon].
func AtNoon(in io.Reader, args ...string) Outcome {
	var out, err bytes.Buffer
	code := cli.Main(context.Background(), args, cli.Streams{In: in, Out: &out, Err: &err, Now: func() time.Time { return Noon }})
	return Outcome{code, out.String(), err.String()}
}

// Printed returns the output of a command, which must succeed without writing to standard
// error.
func Printed(t *testing.T, got Outcome) string {
	t.Helper()
	if got.Code != 0 || got.Err != "" {
		t.Fatalf("exit code %d, standard error:\n%s", got.Code, got.Err)
	}
	return got.Out
}

// WantUsage checks that the command reported a mistake in the command line.
func WantUsage(t *testing.T, got Outcome, text string) {
	t.Helper()
	if got.Code != Usage || got.Out != "" || !strings.Contains(got.Err, text) || strings.Count(got.Err, "\n") != 1 || !strings.HasPrefix(got.Err, "gormflake: ") {
		t.Errorf("got code %d\nstdout: %s\nstderr: %s\nwant code %d and one line with %q", got.Code, got.Out, got.Err, Usage, text)
	}
}

// Lines returns the lines of an output.
func Lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// Records writes the records of workers to a database, for the default layout. The key of a
// record is 32 times the datacenter plus the worker.
func Records(t *testing.T, url string, rs map[int]lease.Record) {
	t.Helper()
	Write(t, sqllease.New(Open(t, url)), rs)
}

// Write writes the records of workers to a store, for the default layout. The key of a
// record is 32 times the datacenter plus the worker.
func Write(t *testing.T, store lease.Store, rs map[int]lease.Record) {
	t.Helper()
	const layout = "epoch=2010-11-04T01:42:54.657Z tick=1ms datacenter=5 worker=5 sequence=12 total=63"
	rs = maps.Clone(rs)
	rs[-1] = lease.Record{Owner: layout} // key -1 contains the layout instead of a worker
	for key, r := range rs {
		if written, err := store.CompareAndSwap(t.Context(), key, lease.Record{}, r); err != nil || !written {
			t.Fatalf("record %d: %v, %v", key, written, err)
		}
	}
}
