//go:build replay

package model_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease/internal/test/model"
)

// load returns the events of a read of these keys. Check compares the records in shown with
// the records of the model.
func load(shown map[int]model.Seen, keys ...int) []model.Event {
	return []model.Event{{Kind: model.Loaded, Keys: keys, Records: shown, OK: true}, {Kind: model.Answered}}
}

// swap returns the events of a write that lands and, if answered is true, is acknowledged.
func swap(call, worker int, old, next model.Seen, answered bool) []model.Event {
	return []model.Event{
		{Kind: model.Sent, Call: call, Worker: worker, Old: old, New: next},
		{Kind: model.Landed, Call: call, Worker: worker, OK: true},
		{Kind: model.Answered, Call: call, OK: answered},
	}
}

// issue returns the event of an ID in this tick of worker 0.
func issue(tick int64) []model.Event {
	return []model.Event{{Kind: model.Issued, Tick: tick}}
}

// trace joins parts of a trace.
func trace(parts ...[]model.Event) (all []model.Event) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// by returns the events after it has changed their process.
func by(process int, events []model.Event) []model.Event {
	for i := range events {
		events[i].Process = process
	}
	return events
}

// held returns the record of a worker that the holder 1 has, with this bound.
func held(bound int64) model.Seen { return model.Seen{Bound: bound, Holder: 1} }

// TestReplay checks that Check accepts traces that the protocol allows, and rejects other
// traces with the right reason. Each case is the shortest trace that has revealed a mistake,
// or that shows one case of the protocol.
func TestReplay(t *testing.T) {
	layout := model.Seen{Bound: 1} // the record of layout 1
	// A process reads the layout and both workers. confirm is its read of the layout after a
	// claim, and reread its read of worker 0.
	read := load(map[int]model.Seen{model.LayoutWorker: layout}, model.LayoutWorker, 0, 1)
	confirm, reread := load(nil, model.LayoutWorker), load(nil, 0)
	// A process finds no layout and writes it, and then holds worker 0 below tick 10.
	join := trace(load(nil, model.LayoutWorker, 0, 1), swap(1, model.LayoutWorker, model.Seen{}, layout, true))
	hold := trace(join, read, swap(2, 0, model.Seen{}, held(10), true), confirm)
	released := model.Seen{Bound: 10, Holder: 1, Released: true}
	// An operator sets the bound of worker 0 to 5.
	reset := []model.Event{{Kind: model.Operated, Process: -1, New: model.Seen{Bound: 5}}}
	// Process 1 writes the layout, which lands but is not acknowledged. Then the store forgets
	// it, and the process writes it again.
	unsaved := by(1, trace(load(nil, model.LayoutWorker, 0, 1), swap(1, model.LayoutWorker, model.Seen{}, layout, true)[:2]))
	again := by(1, trace([]model.Event{{Kind: model.Crashed, Tick: 1}, {Kind: model.Answered, Call: 1}},
		load(nil, model.LayoutWorker, 0, 1), swap(2, model.LayoutWorker, model.Seen{}, layout, true)))
	// Process 0 claims worker 0, and releases it.
	claim, returned := swap(3, 0, model.Seen{}, held(10), true), swap(4, 0, held(10), released, true)
	// The store refuses the claim of a second process.
	late := swap(4, 0, released, model.Seen{Bound: 20, Holder: 2}, false)
	late[1].OK = false
	for _, test := range []struct {
		name   string
		events []model.Event
		want   string // part of the reason, or empty
	}{
		{"issues what was acknowledged", trace(hold, issue(9)), ""},
		{"issues at its bound", trace(hold, issue(10)), "does not allow"},
		{"issues a tick twice", trace(hold, issue(9), issue(9)), "does not allow"},
		{"writes the bound that it has", trace(hold, swap(3, 0, held(10), held(10), true)), ""},
		{"lowers its bound", trace(hold, swap(3, 0, held(10), held(9), true)), "does not allow"},
		{"counts a bound without an answer", trace(hold, swap(3, 0, held(10), held(20), false), reread, issue(15)), "does not allow"},
		{"counts it after another write", trace(hold, swap(3, 0, held(10), held(20), false), reread, swap(4, 0, held(20), held(21), true), issue(15)), ""},
		{"releases above the last tick", trace(hold, issue(4), swap(3, 0, held(10), released, true)), ""},
		{"releases at the last tick", trace(hold, issue(9), swap(3, 0, held(10), model.Seen{Bound: 9, Holder: 1, Released: true}, true)), "does not allow"},
		{"searches before it returns a worker", trace(hold, read, swap(3, 0, held(10), released, true)), ""},
		{"returns a worker without the layout", trace(join, read, swap(2, 0, model.Seen{}, held(10), true), swap(3, 0, held(10), released, true)), ""},
		{"issues without the layout", trace(join, read, swap(2, 0, model.Seen{}, held(10), true), issue(5)), "does not hold"},
		{"claims without reading again", trace(join, swap(2, 0, model.Seen{}, held(10), true)), "without having read"},
		{"returns a worker whose layout was written again", trace(unsaved, read, again, claim, confirm, returned), ""},
		{"issues under a layout that was written again", trace(unsaved, read, again, claim, confirm, issue(5)), "does not hold"},
		{"is overtaken by a reset", trace(hold, issue(4), swap(3, 0, held(10), released, true), read, reset, late), ""},
		{"is reset while it holds", trace(hold, issue(4), reset), "does not allow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := model.NewReplay().Check(test.events)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Check = %v, want %q", err, test.want)
			}
		})
	}
}
