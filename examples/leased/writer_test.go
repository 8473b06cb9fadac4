package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/types"
)

// A writer says once that it was fenced, and by an ID that was made after that.
func TestLookAt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		left  time.Duration // of the window known before, when the ID was made
		moved bool
		want  string
	}{
		{"as ever", time.Hour, false, ""},
		{"fenced", -3 * time.Second, false, "3s ago: was fenced, but nobody took worker 0; goes on under it"},
		{"fenced, worker lost", -3 * time.Second, true, "3s ago: was fenced, and worker 7 is another's; goes on under worker 0"},
		{"worker lost", time.Hour, true, "worker 7 is another's now; goes on under worker 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, id, said := openWriter(t)
			// The lease extends after the writer has looked.
			known := w.gen.Layout().Time(id).Add(test.left)
			w.until = known
			if test.moved {
				w.worker = 7
			}
			for _, want := range []string{test.want, ""} {
				said.Reset()
				if err := w.lookAt(id, known); err != nil {
					t.Fatal(err)
				}
				if got := said.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
					t.Errorf("says %q, want %q", got, want)
				}
			}
		})
	}
}

// openWriter returns a writer under worker 0, an ID of it, and what it says.
func openWriter(t *testing.T) (*writer, types.ID, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	s := emptyShow(t)
	w := &writer{db: s.db, work: work{Name: "A", Window: time.Minute, Workers: 1}, notes: json.NewEncoder(&said)}
	gen, err := w.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gen.Close(context.Background()) })
	w.gen = gen
	id, err := gen.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w, id, &said
}
