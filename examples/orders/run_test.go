package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gormflake/gormflake/types"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"-orders", "1200", "-lines", "3", "-rounds", "2"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SQLite", "temporary file", "worker number of the keys is leased", "Writing 1,200 orders with 3 lines each", `{"id":"`, `"customer":"Ada Lovelace"}`,
		"and 2 lines more", "time        20", "worker      ", "one by one", "batches", "median", "times as fast",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > 81 { // 80 and the line feed
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

func TestRunAgainKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	file := "sqlite://" + filepath.ToSlash(filepath.Join(t.TempDir(), "orders.db"))
	for range 2 {
		args := []string{"-dsn", file, "-orders", "30", "-lines", "4", "-rounds", "1"}
		if err := run(t.Context(), args, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openShop(t.Context(), config{dsn: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	wantRows(t, s.db, &Order{}, 60)
	wantRows(t, s.db, &Line{}, 240)
	wantRows(t, s.db, &AutoOrder{}, 0)
	wantRows(t, s.db, &AutoLine{}, 0)
}

func TestTemporaryFileIsRemoved(t *testing.T) {
	t.Parallel()
	s, err := openShop(t.Context(), config{})
	if err != nil {
		t.Fatal(err)
	}
	var file string
	if err := s.db.Raw("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file).Error; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("while open: %v", err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after close: %v, want none", err)
	}
}

func TestRunStopsWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := &trigger{text: "median", after: "round", do: cancel}
	err := run(ctx, []string{"-orders", "10", "-lines", "1", "-rounds", "1000"}, out)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("got %v, want what ended the context", err)
	}
	if out.seen {
		t.Error("went on to the medians")
	}
}

// trigger calls do at the first write that contains after, and sees text.
type trigger struct {
	text, after string
	do          func()
	seen        bool
}

func (w *trigger) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.after) {
		w.do()
	}
	w.seen = w.seen || strings.Contains(string(p), w.text)
	return len(p), nil
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-serve", "-dsn", "-orders", "-lines", "-rounds", "postgres://", "orders_example_"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args, want string
	}{
		{"no orders", "-orders 0", "at least 1"},
		{"no lines", "-lines -1", "at least 1"},
		{"too many", "-orders 1000000 -lines 2", "at most 1,000,000"},
		{"overflow", "-orders 4611686018427387904 -lines 4", "at most"},
		{"rounds", "-rounds -1", "[0, 1000]"},
		{"argument", "serve", `"serve"`},
		{"flag", "-nosuch", "nosuch"},
		{"no number", "-orders many", "many"},
		{"scheme", "-dsn oracle://host/db", "oracle"},
		{"folder", "-dsn sqlite:///no/such/folder/x.db", "connect"},
		{"address", "-serve localhost:nosuchport", "nosuchport"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), strings.Fields(test.args), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		times []time.Duration
		want  time.Duration
	}{
		{[]time.Duration{7}, 7},
		{[]time.Duration{9, 1}, 5},
		{[]time.Duration{9, 1, 3}, 3},
		{[]time.Duration{9, 1, 3, 5}, 4},
	} {
		if got := median(test.times); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.times, got, test.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12034: "12,034", 1000000: "1,000,000"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

// The numbers are what node prints for them.
func TestAsJavaScript(t *testing.T) {
	t.Parallel()
	for id, want := range map[int64]string{
		1:                   "1",
		9007199254740993:    "9007199254740992",
		7529595880471527425: "7529595880471527000",
		2123868347111048480: "2123868347111048400",
	} {
		if got := asJavaScript(types.ID(id)); got != want {
			t.Errorf("asJavaScript(%d) = %s, want %s", id, got, want)
		}
	}
}
