package model

import (
	"fmt"
	"strings"
	"time"
)

// A Seen is a record as a process has observed it. Bounds are in ticks since the start of the
// trace, except in the events of a View, where they may have any unit. The bound of a layout's
// record is the number of the layout, 1 or 2. Holder is the number of the record's token, or 0
// if the record has no token.
type Seen struct {
	Bound    int64
	Holder   int
	Released bool
	Text     string // the owner, unchanged
}

func (s Seen) String() string { return fmt.Sprintf("{%d %d %v}", s.Bound, s.Holder, s.Released) }

// Tokens maps each token to a number, in the order of their appearance.
type Tokens map[string]int

// Seen returns a worker's record with this bound and owner. The first three parts of an owner,
// host/process/random, are its token. Seen gives a new token the next number.
func (t Tokens) Seen(bound int64, owner string) Seen {
	token := strings.Join(strings.SplitN(owner, "/", 4)[:min(3, strings.Count(owner, "/")+1)], "/")
	if token != "" && t[token] == 0 {
		t[token] = len(t) + 1
	}
	return Seen{Bound: bound, Holder: t[token], Text: owner, Released: owner == "" || strings.HasSuffix(owner, "/released")}
}

// SeenLayout returns the layout's record, with the number of the layout, 1 or 2, as its bound.
// The arguments bound and owner are those of the store's record. They become the Text, by
// which a View tells two records of one layout apart. For an empty owner, which means that
// there is no record, SeenLayout returns the zero Seen.
func SeenLayout(number, bound int64, owner string) Seen {
	if owner == "" {
		return Seen{}
	}
	return Seen{Bound: number, Text: fmt.Sprint(bound, owner)}
}

// An EventKind is the kind of an observation.
type EventKind string

// The kinds of events.
const (
	Loaded   EventKind = "loaded"   // a read of Keys at the moment when the store was read; OK: it was answered
	Sent     EventKind = "sent"     // a compare-and-swap of Worker from Old to New
	Landed   EventKind = "landed"   // a sent write was compared; OK: it was written
	Answered EventKind = "answered" // a call returned; OK: a write was acknowledged; Late: it may still land
	Issued   EventKind = "issued"   // the first ID of a Tick of Worker
	Holds    EventKind = "holds"    // the lease of the token Holder may issue below Tick
	Died     EventKind = "died"     // the process ended without a trace; Late: its write may still land
	Crashed  EventKind = "crashed"  // the store forgot the last Tick writes that it showed
	Operated EventKind = "operated" // an operator wrote New over Worker's record
	Began    EventKind = "began"    // in a view: a call began whose IDs the Issued events at its end show
)

// LayoutWorker is the key of the layout's record.
const LayoutWorker = -1

// An Event is an observation of an implementation.
type Event struct {
	At       time.Duration // since the start, for readers
	Kind     EventKind
	Process  int
	Call     int // of Loaded to Answered: the number of the store call
	Worker   int
	Keys     []int
	Layout   int64 // of Loaded: the layout of the process, if it is known
	Records  map[int]Seen
	Old, New Seen
	Tick     int64
	Holder   int
	OK, Late bool
	Refused  bool // of Answered, in a view: the store has answered that the record was another
}

func (e Event) String() string {
	s := fmt.Sprintf("%v process %d %s call %d", e.At, e.Process, e.Kind, e.Call)
	switch e.Kind {
	case Loaded:
		s += fmt.Sprintf(" keys %v records %v", e.Keys, e.Records)
	case Sent, Operated:
		s += fmt.Sprintf(" worker %d from %v to %v", e.Worker, e.Old, e.New)
	case Issued, Holds, Crashed:
		s += fmt.Sprintf(" worker %d tick %d holder %d", e.Worker, e.Tick, e.Holder)
	}
	return s + fmt.Sprintf(" ok %v late %v", e.OK, e.Late)
}
