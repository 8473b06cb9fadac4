//go:build replay

package model

import (
	"cmp"
	"maps"
	"slices"
)

// advanceIssues moves events. A process may issue IDs while it waits for the answer to a read.
// In the model a read is a single step, during which no ID can be issued. Therefore
// advanceIssues puts the events Issued and Holds of this time before the read. For the
// protocol their order does not matter.
func advanceIssues(events []Event) []Event {
	type placed struct {
		Event
		at int
	}
	all := make([]placed, len(events))
	reading := map[int]int{} // by process, the index of the answered read
	for i, e := range events {
		all[i] = placed{e, 2 * i} // so that 2*i - 1 is a place before event i
		at, isReading := reading[e.Process]
		switch {
		case e.Kind == Loaded && e.OK:
			reading[e.Process] = i
		case e.Kind == Answered:
			delete(reading, e.Process)
		case isReading && (e.Kind == Issued || e.Kind == Holds):
			all[i].at = 2*at - 1
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	out := make([]Event, len(all))
	for i := range all {
		out[i] = all[i].Event
	}
	return out
}

// writesAfter returns, by the index of each read, the write that was based on the read. A
// release is based on the last read of its worker alone. Any other write is based on the last
// read of many workers. The last read of each kind is remembered separately, because a claim
// that has given up may read and release a worker while another claim of the process reads and
// writes.
func writesAfter(events []Event) map[int]*Event {
	type read struct{ process, worker int }
	const many = -2 // as the worker of a read of many workers; LayoutWorker is -1
	last, after := map[read]int{}, map[int]*Event{}
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == Loaded && e.OK && len(e.Keys) == 1:
			last[read{e.Process, e.Keys[0]}] = i
		case e.Kind == Loaded && e.OK && len(e.Keys) > 0: // a read without keys only looks for a missing layout
			last[read{e.Process, many}] = i
		case e.Kind == Sent:
			from := read{e.Process, many}
			if e.New.Released {
				from.worker = e.Worker
			}
			if at, ok := last[from]; ok {
				after[at] = e
				delete(last, from)
			}
		case e.Kind == Died:
			maps.DeleteFunc(last, func(r read, _ int) bool { return r.process == e.Process })
		}
	}
	return after
}
