//go:build replay

package model_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease/internal/test/model"
)

// seen returns the event of a read in a process's own trace.
func seen(records map[int]model.Seen, keys ...int) []model.Event {
	return load(records, keys...)[:1]
}

// send returns the events of a write of worker 0 in a process's own trace, which does not
// show when the write landed. The store acknowledges or refuses it.
func send(call int, old, next model.Seen, acknowledged bool) []model.Event {
	return []model.Event{
		{Kind: model.Sent, Call: call, Old: old, New: next},
		{Kind: model.Answered, Call: call, OK: acknowledged, Refused: !acknowledged},
	}
}

// issueCall returns the events of a call for an ID of worker 0 in this tick.
func issueCall(tick int64) []model.Event {
	return trace([]model.Event{{Kind: model.Began}}, issue(tick))
}

// TestView checks that a View accepts the trace of a process that has kept the protocol, and
// rejects the trace of a process that has broken it. The trace does not show exactly whether
// an ID was issued before or after a call of the store, so the View must accept each order
// that is possible.
func TestView(t *testing.T) {
	layout := map[int]model.Seen{model.LayoutWorker: {Bound: 1}}
	hold := trace(seen(layout, model.LayoutWorker, 0), send(1, model.Seen{}, held(10), true), seen(layout, model.LayoutWorker))
	// Another process has the worker. The process finds out because its extension is refused.
	taken := map[int]model.Seen{0: {Bound: 30, Holder: 2}}
	lost := trace(hold, send(2, held(10), held(20), false), seen(taken, 0))
	extended := map[int]model.Seen{0: held(20)}
	search := seen(layout, model.LayoutWorker, 0, 1)
	unanswered := []model.Event{{Kind: model.Sent, Call: 2, Old: held(10), New: held(20)}, {Kind: model.Answered, Call: 2}}
	failed := []model.Event{{Kind: model.Loaded, Keys: []int{0}}} // a read without an answer
	for _, test := range []struct {
		name   string
		events []model.Event
		want   string // part of the reason, or empty
	}{
		{"issues what was acknowledged", trace(hold, issueCall(9)), ""},
		{"issues at its bound", trace(hold, issueCall(10)), "at no time of the call"},
		{"issues before it reads the layout again", trace(hold[:3], issueCall(5), issueCall(6), hold[3:]), "at no time of the call"},
		{"issues until it has acted on the loss that it has read", trace(lost, issueCall(5), search), ""},
		{"issues at its bound after the loss", trace(lost, issueCall(10), search), "at no time of the call"},
		{"issues after it has acted on the loss", trace(lost, search, issueCall(5)), "at no time of the call"},
		{"issues although an earlier claim of its own reads the worker", trace(hold, seen(taken, 0), issueCall(5), issueCall(6), search, issueCall(7)), ""},
		{"issues after it has acted on the loss, in an outage", trace(lost, failed, issueCall(5), issueCall(6)), "at no time of the call"},
		{"extends again after an error, although an earlier claim has read the bound", trace(hold, unanswered, seen(extended, 0), send(3, held(10), held(25), false), seen(taken, 0)), ""},
		{"counts a bound that it has read", trace(hold, send(2, held(10), held(20), false), seen(extended, 0), issueCall(15)), "at no time of the call"},
		{"lowers the bound that it has read", trace(hold, send(2, held(10), held(20), false), seen(extended, 0), send(3, held(20), held(15), true)), "does not allow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := model.NewView().Check(test.events)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Check = %v, want %q", err, test.want)
			}
		})
	}
}
