package cli_test

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

// noon is the clock of tests whose output tells ages.
var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// sample is an ID of an hour before noon.
func sample(t *testing.T) types.ID {
	t.Helper()
	return compose(t, snowflake.Parts{Time: noon.Add(-time.Hour), Datacenter: 1, Worker: 7, Sequence: 42})
}

func compose(t *testing.T, p snowflake.Parts) types.ID {
	t.Helper()
	id, err := snowflake.TwitterLayout().Compose(p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// atNoon is commandWith at noon.
func atNoon(in io.Reader, args ...string) outcome {
	var out, err bytes.Buffer
	code := cli.Main(context.Background(), args, cli.Streams{In: in, Out: &out, Err: &err, Now: func() time.Time { return noon }})
	return outcome{code, out.String(), err.String()}
}

// printed is the output of a command that must work and say nothing else.
func printed(t *testing.T, got outcome) string {
	t.Helper()
	if got.code != 0 || got.err != "" {
		t.Fatalf("exit code %d, standard error:\n%s", got.code, got.err)
	}
	return got.out
}

// wantUsage is for mistakes in the command line.
func wantUsage(t *testing.T, got outcome, text string) {
	t.Helper()
	if got.code != usage || got.out != "" || !strings.Contains(got.err, text) || strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "gormflake: ") {
		t.Errorf("got code %d\nstdout: %s\nstderr: %s\nwant code %d and one line with %q", got.code, got.out, got.err, usage, text)
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// records writes records of workers, by key, for the default layout.
func records(t *testing.T, url string, rs map[int]lease.Record) {
	t.Helper()
	const layout = "epoch=2010-11-04T01:42:54.657Z tick=1ms datacenter=5 worker=5 sequence=12 total=63"
	rs = maps.Clone(rs)
	rs[-1] = lease.Record{Owner: layout}
	store := sqllease.New(open(t, url))
	for key, r := range rs {
		if written, err := store.CompareAndSwap(t.Context(), key, lease.Record{}, r); err != nil || !written {
			t.Fatalf("record %d: %v, %v", key, written, err)
		}
	}
}
