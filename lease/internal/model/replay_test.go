//go:build replay

package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease/internal/model"
)

// The calls of a trace, in short.
func load(shown map[int]model.Seen, keys ...int) []model.Event {
	return []model.Event{{Kind: model.Loaded, Keys: keys, Records: shown, OK: true}, {Kind: model.Answered}}
}

func swap(call, worker int, old, next model.Seen, landed, answered bool) []model.Event {
	return []model.Event{
		{Kind: model.Sent, Call: call, Worker: worker, Old: old, New: next},
		{Kind: model.Landed, Call: call, Worker: worker, OK: landed},
		{Kind: model.Answered, Call: call, OK: answered},
	}
}

func issue(worker int, tick int64) []model.Event {
	return []model.Event{{Kind: model.Issued, Worker: worker, Tick: tick}}
}

func trace(parts ...[]model.Event) (all []model.Event) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func held(bound int64, token int) model.Seen { return model.Seen{Bound: bound, Holder: token} }

// The traces that have shown something, as short as they can be.
func TestReplay(t *testing.T) {
	layout := model.Seen{Bound: 1}
	read := load(map[int]model.Seen{model.LayoutWorker: layout}, model.LayoutWorker, 0, 1)
	confirm, reread := load(nil, model.LayoutWorker), load(nil, 0)
	join := trace(load(nil, model.LayoutWorker, 0, 1), swap(1, model.LayoutWorker, model.Seen{}, layout, true, true))
	hold := trace(join, read, swap(2, 0, model.Seen{}, held(10, 1), true, true), confirm)
	released := model.Seen{Bound: 10, Holder: 1, Released: true}
	for _, test := range []struct {
		name   string
		events []model.Event
		want   string // part of the reason, or empty
	}{
		{"issues what was acknowledged", trace(hold, issue(0, 9)), ""},
		{"issues at its bound", trace(hold, issue(0, 10)), "does not allow"},
		{"issues a tick twice", trace(hold, issue(0, 9), issue(0, 9)), "does not allow"},
		{"writes the bound that it has", trace(hold, swap(3, 0, held(10, 1), held(10, 1), true, true)), ""},
		{"lowers its bound", trace(hold, swap(3, 0, held(10, 1), held(9, 1), true, true)), "does not allow"},
		{"counts a bound without an answer", trace(hold, swap(3, 0, held(10, 1), held(20, 1), true, false), reread, issue(0, 15)), "does not allow"},
		{"counts it after another write", trace(hold, swap(3, 0, held(10, 1), held(20, 1), true, false), reread, swap(4, 0, held(20, 1), held(21, 1), true, true), issue(0, 15)), ""},
		{"releases above the last tick", trace(hold, issue(0, 4), swap(3, 0, held(10, 1), released, true, true)), ""},
		{"releases at the last tick", trace(hold, issue(0, 9), swap(3, 0, held(10, 1), model.Seen{Bound: 9, Holder: 1, Released: true}, true, true)), "does not allow"},
		{"searches before it returns a worker", trace(hold, read, swap(3, 0, held(10, 1), released, true, true)), ""},
		{"returns a worker without the layout", trace(join, read, swap(2, 0, model.Seen{}, held(10, 1), true, true), swap(3, 0, held(10, 1), released, true, true)), ""},
		{"issues without the layout", trace(join, read, swap(2, 0, model.Seen{}, held(10, 1), true, true), issue(0, 5)), "does not hold"},
		{"claims without reading again", trace(join, swap(2, 0, model.Seen{}, held(10, 1), true, true)), "without having read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := model.NewReplay().Check(test.events)
			var rejected *model.Rejected
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.As(err, &rejected) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("Check = %v, want %q", err, test.want)
			}
		})
	}
}
