//go:build replay

package model

import (
	"cmp"
	"slices"
)

// advanceIssues moves events of IDs that a process issued while it waited for the answer to
// a read. They come before the read in the result, because in the model a read is a single
// step, during which no ID can be issued. For the protocol their order does not matter.
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

// writesAfter returns, by the index of each read, the write that was based on it. This is
// the next write of the process, if no other read comes before it.
func writesAfter(events []Event) map[int]*Event {
	last, after := map[int]int{}, map[int]*Event{}
	for i := range events {
		e := &events[i]
		at, read := last[e.Process]
		switch {
		case e.Kind == Loaded && e.OK:
			last[e.Process] = i
		case e.Kind == Sent && read:
			after[at] = e
			delete(last, e.Process)
		case e.Kind == Died:
			delete(last, e.Process)
		}
	}
	return after
}
